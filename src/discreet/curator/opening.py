"""`discreet.Curator`: in a folder, in memory or, by its address and a token, behind a server.

`curator` knows no client. Importing the client registers it for the addresses of servers.
"""

from discreet.curator.client.remote import Remote
from discreet.curator.curator import Curator

__all__ = ["Curator", "Remote"]
