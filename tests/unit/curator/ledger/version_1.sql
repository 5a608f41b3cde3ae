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
INSERT INTO "accounts" VALUES('["dataset","visits",null]','epsilon','add-remove','000000000001441440000000000000000000000000000000000000000000000000000000000000','000000000000000000000000000000000000000000000000000000000000000000000000000000','000000000000144144000000000000000000000000000000000000000000000000000000000000','000000000000000000000000000000000000000000000000000000000000000000000000000000');
INSERT INTO "accounts" VALUES('["link","people",null]','epsilon','add-remove','000000000000720720000000000000000000000000000000000000000000000000000000000000','000000000000000000000000000000000000000000000000000000000000000000000000000000','000000000000144144000000000000000000000000000000000000000000000000000000000000','000000000000000000000000000000000000000000000000000000000000000000000000000000');
INSERT INTO "accounts" VALUES('["group","team","visits"]','epsilon','add-remove','000000000000720720000000000000000000000000000000000000000000000000000000000000','000000000000000000000000000000000000000000000000000000000000000000000000000000','000000000000072072000000000000000000000000000000000000000000000000000000000000','000000000000000000000000000000000000000000000000000000000000000000000000000000');
INSERT INTO "accounts" VALUES('["analyst","alice","visits"]','epsilon','add-remove',NULL,NULL,'000000000000072072000000000000000000000000000000000000000000000000000000000000','000000000000000000000000000000000000000000000000000000000000000000000000000000');
INSERT INTO "accounts" VALUES('["analyst","carol","visits"]','epsilon','add-remove',NULL,NULL,'000000000000072072000000000000000000000000000000000000000000000000000000000000','000000000000000000000000000000000000000000000000000000000000000000000000000000');
INSERT INTO "accounts" VALUES('["analyst","bob","visits"]','epsilon','add-remove',NULL,NULL,'000000000000072072000000000000000000000000000000000000000000000000000000000000','000000000000000000000000000000000000000000000000000000000000000000000000000000');
CREATE TABLE charges (
        sequence INTEGER PRIMARY KEY REFERENCES entries (sequence),
        request TEXT UNIQUE,
        question TEXT NOT NULL UNIQUE,
        worker TEXT NOT NULL,
        claimed INTEGER NOT NULL,
        released INTEGER UNIQUE REFERENCES entries (sequence)
    ) STRICT;
INSERT INTO "charges" VALUES(5,'r1','46c5c3aeeb4c24a5589063710d3a057291b36835ee74fa9aa8f7a98fc4ce4ee4','vm:9648:50552691',1794741707946,6);
INSERT INTO "charges" VALUES(7,NULL,'29d2b496ba51fc725e310f8eed1906ca637d988e64932e8c4288c128a3125234','vm:9648:50552691',1794741707951,NULL);
CREATE TABLE entries (
        sequence INTEGER PRIMARY KEY,
        hash TEXT NOT NULL,
        body TEXT NOT NULL
    ) STRICT;
INSERT INTO "entries" VALUES(1,'6ac92901e97a58e4d31f5997637e96be7c0934e8f85948d8b0765519484d827b','{"by":"ledger","facts":{"ledger":"8469c70ea4733ea78b4a10b3eba46589","version":1},"kind":"founded","previous":"0000000000000000000000000000000000000000000000000000000000000000","sequence":1,"time":"2026-11-15T11:21:47.934+00:00"}');
INSERT INTO "entries" VALUES(2,'07650c80d9a71895596498266a753083a63af447d4dc7b7d7b632f87c9d6af30','{"by":"owner","facts":{"account":"[\"dataset\",\"visits\",null]","cap":{"amount":"1","delta":"0","measure":"epsilon","neighbours":"add-remove"},"measure":"epsilon","members":[],"neighbours":"add-remove","reason":""},"kind":"opened","previous":"6ac92901e97a58e4d31f5997637e96be7c0934e8f85948d8b0765519484d827b","sequence":2,"time":"2026-11-15T11:21:47.941+00:00"}');
INSERT INTO "entries" VALUES(3,'6fe6401cc2ef5f83a7240bc9bd4344c5a93b8a5234bdf06a2b2200b241f52579','{"by":"owner","facts":{"account":"[\"link\",\"people\",null]","cap":{"amount":"1","delta":"0","measure":"epsilon","neighbours":"add-remove"},"measure":"epsilon","members":["[\"dataset\",\"visits\",null]"],"neighbours":"add-remove","reason":""},"kind":"linked","previous":"07650c80d9a71895596498266a753083a63af447d4dc7b7d7b632f87c9d6af30","sequence":3,"time":"2026-11-15T11:21:47.943+00:00"}');
INSERT INTO "entries" VALUES(4,'3c02651b4588a29f75238037c68d37163e5f71e36fd1cde5b38f696586c28819','{"by":"owner","facts":{"account":"[\"group\",\"team\",\"visits\"]","cap":{"amount":"1","delta":"0","measure":"epsilon","neighbours":"add-remove"},"measure":"epsilon","members":["[\"analyst\",\"alice\",\"visits\"]"],"neighbours":"add-remove","reason":""},"kind":"grouped","previous":"6fe6401cc2ef5f83a7240bc9bd4344c5a93b8a5234bdf06a2b2200b241f52579","sequence":4,"time":"2026-11-15T11:21:47.945+00:00"}');
INSERT INTO "entries" VALUES(5,'3dcea0cf9c4780585ab39d0efc6ad0b343b77a7672ab592da33b89efaaf64932','{"by":"alice","facts":{"dataset":"visits","debits":{"[\"analyst\",\"alice\",\"visits\"]":["72072000000000000000000000000000000000000000000000000000000000000","0"],"[\"dataset\",\"visits\",null]":["72072000000000000000000000000000000000000000000000000000000000000","0"],"[\"group\",\"team\",\"visits\"]":["72072000000000000000000000000000000000000000000000000000000000000","0"],"[\"link\",\"people\",null]":["72072000000000000000000000000000000000000000000000000000000000000","0"]},"measurements":[{"what":"count"}],"plan":"count()","plan_digest":"3c5bb3f2e38f384d518e6d6bfad8c5553814ae2aa7df67c08d9b8a1f242a2e22","prices":[{"amount":"1/10","delta":"0","measure":"epsilon","neighbours":"add-remove"}],"question":"46c5c3aeeb4c24a5589063710d3a057291b36835ee74fa9aa8f7a98fc4ce4ee4","request":"r1","version":"v1"},"kind":"charged","previous":"3c02651b4588a29f75238037c68d37163e5f71e36fd1cde5b38f696586c28819","sequence":5,"time":"2026-11-15T11:21:47.947+00:00"}');
INSERT INTO "entries" VALUES(6,'756105c53b9f86110048653b5f2498c32f662b4baa6b22083b0244a701a4de9d','{"by":"alice","facts":{"charge":5,"digest":"0db52f4076c082518412afd3dd3576e2cb0c63703fd7fed5e23ade60efef31d9","size":6},"kind":"released","previous":"3dcea0cf9c4780585ab39d0efc6ad0b343b77a7672ab592da33b89efaaf64932","sequence":6,"time":"2026-11-15T11:21:47.949+00:00"}');
INSERT INTO "entries" VALUES(7,'99c6edb0bb4073e2f2ee5c4ce40415188ab8765bb1d813002d3854f7dfea7aa6','{"by":"carol","facts":{"dataset":"visits","debits":{"[\"analyst\",\"carol\",\"visits\"]":["72072000000000000000000000000000000000000000000000000000000000000","0"],"[\"dataset\",\"visits\",null]":["72072000000000000000000000000000000000000000000000000000000000000","0"],"[\"link\",\"people\",null]":["72072000000000000000000000000000000000000000000000000000000000000","0"]},"measurements":[{"what":"count"}],"plan":"mean()","plan_digest":"cbfb899cc337f8caad01e4d9cffe979b2a211c2beabc26cc6d8b14cd4bfb14ac","prices":[{"amount":"1/10","delta":"0","measure":"epsilon","neighbours":"add-remove"}],"question":"29d2b496ba51fc725e310f8eed1906ca637d988e64932e8c4288c128a3125234","request":null,"version":"v1"},"kind":"charged","previous":"756105c53b9f86110048653b5f2498c32f662b4baa6b22083b0244a701a4de9d","sequence":7,"time":"2026-11-15T11:21:47.951+00:00"}');
INSERT INTO "entries" VALUES(8,'89db1f5a66bde8c79d9183bc7f258bae49fa7d329f87edd4567cef05590c8a81','{"by":"bob","facts":{"charge":5,"debits":{"[\"analyst\",\"bob\",\"visits\"]":["72072000000000000000000000000000000000000000000000000000000000000","0"]},"request":null},"kind":"shared","previous":"99c6edb0bb4073e2f2ee5c4ce40415188ab8765bb1d813002d3854f7dfea7aa6","sequence":8,"time":"2026-11-15T11:21:47.953+00:00"}');
INSERT INTO "entries" VALUES(9,'70732c3f077c307e6b356d21f721497fe574cb3e8d90799825b9ac4de8e1a536','{"by":"owner","facts":{"account":"[\"dataset\",\"visits\",null]","cap":{"amount":"2","delta":"0","measure":"epsilon","neighbours":"add-remove"},"reason":"a new study"},"kind":"raised","previous":"89db1f5a66bde8c79d9183bc7f258bae49fa7d329f87edd4567cef05590c8a81","sequence":9,"time":"2026-11-15T11:21:47.956+00:00"}');
CREATE TABLE ledger (
        one INTEGER PRIMARY KEY CHECK (one = 1),
        id TEXT NOT NULL,
        version INTEGER NOT NULL,
        sequence INTEGER NOT NULL,
        hash TEXT NOT NULL
    ) STRICT;
INSERT INTO "ledger" VALUES(1,'8469c70ea4733ea78b4a10b3eba46589',1,9,'70732c3f077c307e6b356d21f721497fe574cb3e8d90799825b9ac4de8e1a536');
CREATE TABLE members (
        member TEXT NOT NULL,
        account TEXT NOT NULL REFERENCES accounts (key),
        PRIMARY KEY (member, account)
    ) STRICT;
INSERT INTO "members" VALUES('["dataset","visits",null]','["link","people",null]');
INSERT INTO "members" VALUES('["analyst","alice","visits"]','["group","team","visits"]');
CREATE TABLE releases (
        charge INTEGER PRIMARY KEY REFERENCES charges (sequence),
        bytes BLOB NOT NULL
    ) STRICT;
INSERT INTO "releases" VALUES(5,X'616E73776572');
CREATE TABLE shares (
        charge INTEGER NOT NULL REFERENCES charges (sequence),
        account TEXT NOT NULL,
        PRIMARY KEY (charge, account)
    ) STRICT;
INSERT INTO "shares" VALUES(5,'["analyst","bob","visits"]');
CREATE INDEX pending ON charges (sequence) WHERE released IS NULL;
CREATE TRIGGER entries_update BEFORE UPDATE ON entries
        BEGIN SELECT RAISE(ABORT, 'entries are kept'); END;
CREATE TRIGGER entries_delete BEFORE DELETE ON entries
        BEGIN SELECT RAISE(ABORT, 'entries are kept'); END;
CREATE TRIGGER releases_update BEFORE UPDATE ON releases
        BEGIN SELECT RAISE(ABORT, 'releases are kept'); END;
CREATE TRIGGER releases_delete BEFORE DELETE ON releases
        BEGIN SELECT RAISE(ABORT, 'releases are kept'); END;
COMMIT;
