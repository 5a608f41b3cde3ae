"""One file a part of the interface; each has a `router` that `app.build_app` includes."""
