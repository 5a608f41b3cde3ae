BEGIN TRANSACTION;
CREATE TABLE accounts (
        key TEXT PRIMARY KEY,
        measure TEXT NOT NULL,
        neighbours TEXT NOT NULL,
        cap TEXT CHECK (length(cap) = 78),
        cap_delta TEXT CHECK (length(cap_delta) = 78),
        spent TEXT NOT NULL CHECK (length(spent) = 78),
        spent_delta TEXT NOT NULL CHECK (length(spent_delta) = 78),
        CHECK ((cap IS NULL) = (cap_delta IS NULL)),
        CHECK (cap IS NULL OR (spent <= cap AND spent_delta <= cap_delta))
    ) STRICT;
INSERT INTO "accounts" VALUES('["dataset","visits",null]','rho','add-remove','000000000000126666478798619760000000000000000000000000000000000000000000000000','000000000000000000360360000000000000000000000000000000000000000000000000000000','000000000000007207200000000000000000000000000000000000000000000000000000000000','000000000000000000000000000000000000000000000000000000000000000000000000000000');
INSERT INTO "accounts" VALUES('["dataset","bills",null]','epsilon','add-remove','000000000000720720000000000000000000000000000000000000000000000000000000000000','000000000000000000000000000000000000000000000000000000000000000000000000000000','000000000000072072000000000000000000000000000000000000000000000000000000000000','000000000000000000000000000000000000000000000000000000000000000000000000000000');
INSERT INTO "accounts" VALUES('["analyst","alice","visits"]','rho','add-remove','000000000000013830450993679320000000000000000000000000000000000000000000000000','000000000000000000036036000000000000000000000000000000000000000000000000000000','000000000000007207200000000000000000000000000000000000000000000000000000000000','000000000000000000000000000000000000000000000000000000000000000000000000000000');
INSERT INTO "accounts" VALUES('["analyst","bob","bills"]','epsilon','add-remove',NULL,NULL,'000000000000072072000000000000000000000000000000000000000000000000000000000000','000000000000000000000000000000000000000000000000000000000000000000000000000000');
CREATE TABLE charges (
        sequence INTEGER PRIMARY KEY REFERENCES entries (sequence),
        request TEXT UNIQUE,
        question TEXT NOT NULL UNIQUE,
        worker TEXT NOT NULL,
        claimed INTEGER NOT NULL,
        released INTEGER UNIQUE REFERENCES entries (sequence)
    , analyst TEXT NOT NULL DEFAULT '', dataset TEXT NOT NULL DEFAULT '', measured INTEGER REFERENCES entries (sequence), failed INTEGER NOT NULL DEFAULT 0) STRICT;
INSERT INTO "charges" VALUES(5,NULL,'9fe8db1141bd46641f0bd8d350ffb79b803eda14f78db2900af606d2121690c8','vm:19958:a8278f07',1794800956689,6,'alice','visits',NULL,0);
INSERT INTO "charges" VALUES(7,NULL,'632530c4016ad3e72fe0083b712f362f44129f3b2dbc91afdb203710ecd85790','vm:19958:a8278f07',1794800956769,NULL,'bob','bills',NULL,0);
CREATE TABLE entries (
        sequence INTEGER PRIMARY KEY,
        hash TEXT NOT NULL,
        body TEXT NOT NULL
    ) STRICT;
INSERT INTO "entries" VALUES(1,'50dfd776472e596503b4eb2fd0b9d454d8ec211d7c8795b56fe54422a15d5d5c','{"by":"ledger","facts":{"ledger":"d59122193f269c88a2457a89771ba7a7","version":3},"kind":"founded","previous":"0000000000000000000000000000000000000000000000000000000000000000","sequence":1,"time":"2026-11-16T03:49:14.866+00:00"}');
INSERT INTO "entries" VALUES(2,'61ac67e10a14450ecc39d2bf218190e8ed6bcf94780a2a1f7c1a12f03c251ba5','{"by":"owner","facts":{"account":"[\"dataset\",\"visits\",null]","cap":{"amount":"175749915083/1000000000000","delta":"1/2000000","measure":"rho","neighbours":"add-remove"},"measure":"rho","members":[],"neighbours":"add-remove","reason":""},"kind":"opened","previous":"50dfd776472e596503b4eb2fd0b9d454d8ec211d7c8795b56fe54422a15d5d5c","sequence":2,"time":"2026-11-16T03:49:16.271+00:00"}');
INSERT INTO "entries" VALUES(3,'f0de2f8fe0f03795745fc77b17f8892a940557dd86d92daae4d97ff9911707df','{"by":"owner","facts":{"account":"[\"dataset\",\"bills\",null]","cap":{"amount":"1","delta":"0","measure":"epsilon","neighbours":"add-remove"},"measure":"epsilon","members":[],"neighbours":"add-remove","reason":""},"kind":"opened","previous":"61ac67e10a14450ecc39d2bf218190e8ed6bcf94780a2a1f7c1a12f03c251ba5","sequence":3,"time":"2026-11-16T03:49:16.441+00:00"}');
INSERT INTO "entries" VALUES(4,'52d0d3b220f92f69da62d126752533617f310b078634e71048ddfbff16d7710b','{"by":"owner","facts":{"account":"[\"analyst\",\"alice\",\"visits\"]","cap":{"amount":"38379539887/2000000000000","delta":"1/20000000","measure":"rho","neighbours":"add-remove"},"measure":"rho","members":[],"neighbours":"add-remove","reason":""},"kind":"granted","previous":"f0de2f8fe0f03795745fc77b17f8892a940557dd86d92daae4d97ff9911707df","sequence":4,"time":"2026-11-16T03:49:16.560+00:00"}');
INSERT INTO "entries" VALUES(5,'b9e7d37824a60f5d6db8a35c4d8b75a82a1838c1c85dbdc4c3fb31645911416f','{"by":"alice","facts":{"dataset":"visits","debits":{"[\"analyst\",\"alice\",\"visits\"]":["7207200000000000000000000000000000000000000000000000000000000000","0"],"[\"dataset\",\"visits\",null]":["7207200000000000000000000000000000000000000000000000000000000000","0"]},"measurements":[],"plan":"count()","plan_digest":"3c5bb3f2e38f384d518e6d6bfad8c5553814ae2aa7df67c08d9b8a1f242a2e22","prices":[{"amount":"1/100","delta":"0","measure":"rho","neighbours":"add-remove"}],"question":"9fe8db1141bd46641f0bd8d350ffb79b803eda14f78db2900af606d2121690c8","request":null,"version":"v1"},"kind":"charged","previous":"52d0d3b220f92f69da62d126752533617f310b078634e71048ddfbff16d7710b","sequence":5,"time":"2026-11-16T03:49:16.689+00:00"}');
INSERT INTO "entries" VALUES(6,'5d783318f7936fd07412972c4aa089e6a8879c4f5fa6239daa43e089c16f6fe7','{"by":"alice","facts":{"charge":5,"digest":"73475cb40a568e8da8a045ced110137e159f890ac4da883b6b17dc651b3a8049","size":2},"kind":"released","previous":"b9e7d37824a60f5d6db8a35c4d8b75a82a1838c1c85dbdc4c3fb31645911416f","sequence":6,"time":"2026-11-16T03:49:16.753+00:00"}');
INSERT INTO "entries" VALUES(7,'1224a1abad39561a4478147a99d063af487b4283f991e7a9afe5b66fd62245b2','{"by":"bob","facts":{"dataset":"bills","debits":{"[\"analyst\",\"bob\",\"bills\"]":["72072000000000000000000000000000000000000000000000000000000000000","0"],"[\"dataset\",\"bills\",null]":["72072000000000000000000000000000000000000000000000000000000000000","0"]},"measurements":[],"plan":"count()","plan_digest":"3c5bb3f2e38f384d518e6d6bfad8c5553814ae2aa7df67c08d9b8a1f242a2e22","prices":[{"amount":"1/10","delta":"0","measure":"epsilon","neighbours":"add-remove"}],"question":"632530c4016ad3e72fe0083b712f362f44129f3b2dbc91afdb203710ecd85790","request":null,"version":"v1"},"kind":"charged","previous":"5d783318f7936fd07412972c4aa089e6a8879c4f5fa6239daa43e089c16f6fe7","sequence":7,"time":"2026-11-16T03:49:16.769+00:00"}');
CREATE TABLE ledger (
        one INTEGER PRIMARY KEY CHECK (one = 1),
        id TEXT NOT NULL,
        version INTEGER NOT NULL,
        sequence INTEGER NOT NULL,
        hash TEXT NOT NULL
    ) STRICT;
INSERT INTO "ledger" VALUES(1,'d59122193f269c88a2457a89771ba7a7',3,7,'1224a1abad39561a4478147a99d063af487b4283f991e7a9afe5b66fd62245b2');
CREATE TABLE measurements (
        charge INTEGER PRIMARY KEY REFERENCES charges (sequence),
        bytes BLOB NOT NULL
    ) STRICT;
CREATE TABLE members (
        member TEXT NOT NULL,
        account TEXT NOT NULL REFERENCES accounts (key),
        PRIMARY KEY (member, account)
    ) STRICT;
CREATE TABLE releases (
        charge INTEGER PRIMARY KEY REFERENCES charges (sequence),
        bytes BLOB NOT NULL
    ) STRICT;
INSERT INTO "releases" VALUES(5,X'3432');
CREATE TABLE shares (
        charge INTEGER NOT NULL REFERENCES charges (sequence),
        account TEXT NOT NULL,
        PRIMARY KEY (charge, account)
    ) STRICT;
CREATE INDEX pending ON charges (sequence) WHERE released IS NULL;
CREATE TRIGGER entries_update BEFORE UPDATE ON entries
        BEGIN SELECT RAISE(ABORT, 'entries are kept'); END;
CREATE TRIGGER entries_delete BEFORE DELETE ON entries
        BEGIN SELECT RAISE(ABORT, 'entries are kept'); END;
CREATE TRIGGER releases_update BEFORE UPDATE ON releases
        BEGIN SELECT RAISE(ABORT, 'releases are kept'); END;
CREATE TRIGGER releases_delete BEFORE DELETE ON releases
        BEGIN SELECT RAISE(ABORT, 'releases are kept'); END;
CREATE INDEX asked_by ON charges (analyst, dataset, sequence);
CREATE INDEX asked_about ON charges (dataset, sequence);
CREATE INDEX shared_with ON shares (account, charge);
CREATE UNIQUE INDEX measured_in ON charges (measured);
CREATE INDEX failures ON charges (analyst, dataset) WHERE failed = 1;
COMMIT;
