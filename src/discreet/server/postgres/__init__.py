"""The curator behind the Postgres wire protocol, for clients that know no other."""
