"""What a mechanism promises: the families of guarantees, and what each can say."""
