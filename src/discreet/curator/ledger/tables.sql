-- The first tables of a ledger; what is in braces differs between engines.
-- The head and the totals are kept, so that a charge costs the same after a million entries.

CREATE TABLE ledger (
        one {int} PRIMARY KEY CHECK (one = 1),
        id {text} NOT NULL,
        version {int} NOT NULL,
        sequence {int} NOT NULL,
        hash {text} NOT NULL
    ){strict};
CREATE TABLE entries (
        sequence {int} PRIMARY KEY,
        hash {text} NOT NULL,
        body {text} NOT NULL
    ){strict};
CREATE TABLE accounts (
        key {text} PRIMARY KEY,
        measure {text} NOT NULL,
        neighbours {text} NOT NULL,
        cap {text} CHECK (length(cap) = 78),
        cap_delta {text} CHECK (length(cap_delta) = 78),
        spent {text} NOT NULL CHECK (length(spent) = 78),
        spent_delta {text} NOT NULL CHECK (length(spent_delta) = 78),
        CHECK ((cap IS NULL) = (cap_delta IS NULL)),
        CHECK (cap IS NULL OR (spent <= cap AND spent_delta <= cap_delta))
    ){strict};
CREATE TABLE members (
        member {text} NOT NULL,
        account {text} NOT NULL REFERENCES accounts (key),
        PRIMARY KEY (member, account)
    ){strict};
CREATE TABLE charges (
        sequence {int} PRIMARY KEY REFERENCES entries (sequence),
        request {text} UNIQUE,
        question {text} NOT NULL UNIQUE,
        worker {text} NOT NULL,
        claimed {int} NOT NULL,
        released {int} UNIQUE REFERENCES entries (sequence)
    ){strict};
CREATE INDEX pending ON charges (sequence) WHERE released IS NULL;
CREATE TABLE shares (
        charge {int} NOT NULL REFERENCES charges (sequence),
        account {text} NOT NULL,
        PRIMARY KEY (charge, account)
    ){strict};
CREATE TABLE releases (
        charge {int} PRIMARY KEY REFERENCES charges (sequence),
        bytes {bytes} NOT NULL
    ){strict};
