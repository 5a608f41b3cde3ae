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
        released INTEGER REFERENCES entries (sequence)
    ) STRICT;
INSERT INTO "charges" VALUES(5,'r1','46c5c3aeeb4c24a5589063710d3a057291b36835ee74fa9aa8f7a98fc4ce4ee4','vm:24469:d6f9bc4b',1794740964875,6);
INSERT INTO "charges" VALUES(7,NULL,'29d2b496ba51fc725e310f8eed1906ca637d988e64932e8c4288c128a3125234','vm:24469:d6f9bc4b',1794740964880,NULL);
CREATE TABLE entries (
        sequence INTEGER PRIMARY KEY,
        hash TEXT NOT NULL,
        body TEXT NOT NULL
    ) STRICT;
INSERT INTO "entries" VALUES(1,'623434499370a792210359cc6a44f94cdc6dd019a99c9a865144fb3f778d15ae','{"by":"ledger","facts":{"ledger":"ed4507731a5afb54dab7f283ade50eeb","version":1},"kind":"founded","previous":"0000000000000000000000000000000000000000000000000000000000000000","sequence":1,"time":"2026-11-15T11:09:24.858+00:00"}');
INSERT INTO "entries" VALUES(2,'5a0d614213e2391e1d9d03cdeceb403cd5e1098d230cd3bace23fa9e059ed470','{"by":"owner","facts":{"account":"[\"dataset\",\"visits\",null]","cap":{"amount":"1","delta":"0","measure":"epsilon","neighbours":"add-remove"},"measure":"epsilon","members":[],"neighbours":"add-remove","reason":""},"kind":"opened","previous":"623434499370a792210359cc6a44f94cdc6dd019a99c9a865144fb3f778d15ae","sequence":2,"time":"2026-11-15T11:09:24.867+00:00"}');
INSERT INTO "entries" VALUES(3,'b50c68d72e31e5b477a8e29a79fd74f941ee0e14f6f69d933e87e66f3aa6b20f','{"by":"owner","facts":{"account":"[\"link\",\"people\",null]","cap":{"amount":"1","delta":"0","measure":"epsilon","neighbours":"add-remove"},"measure":"epsilon","members":["[\"dataset\",\"visits\",null]"],"neighbours":"add-remove","reason":""},"kind":"linked","previous":"5a0d614213e2391e1d9d03cdeceb403cd5e1098d230cd3bace23fa9e059ed470","sequence":3,"time":"2026-11-15T11:09:24.871+00:00"}');
INSERT INTO "entries" VALUES(4,'da6d3fc53790baef08c53bb263b95271526523990f0ad84350cb2f92ddd853cc','{"by":"owner","facts":{"account":"[\"group\",\"team\",\"visits\"]","cap":{"amount":"1","delta":"0","measure":"epsilon","neighbours":"add-remove"},"measure":"epsilon","members":["[\"analyst\",\"alice\",\"visits\"]"],"neighbours":"add-remove","reason":""},"kind":"grouped","previous":"b50c68d72e31e5b477a8e29a79fd74f941ee0e14f6f69d933e87e66f3aa6b20f","sequence":4,"time":"2026-11-15T11:09:24.873+00:00"}');
INSERT INTO "entries" VALUES(5,'c44dacd9ade4615b4c48ae7bfac502627007c19435fc48059b88a1cfc40c47ba','{"by":"alice","facts":{"dataset":"visits","debits":{"[\"analyst\",\"alice\",\"visits\"]":["72072000000000000000000000000000000000000000000000000000000000000","0"],"[\"dataset\",\"visits\",null]":["72072000000000000000000000000000000000000000000000000000000000000","0"],"[\"group\",\"team\",\"visits\"]":["72072000000000000000000000000000000000000000000000000000000000000","0"],"[\"link\",\"people\",null]":["72072000000000000000000000000000000000000000000000000000000000000","0"]},"measurements":[{"what":"count"}],"plan":"count()","plan_digest":"3c5bb3f2e38f384d518e6d6bfad8c5553814ae2aa7df67c08d9b8a1f242a2e22","prices":[{"amount":"1/10","delta":"0","measure":"epsilon","neighbours":"add-remove"}],"question":"46c5c3aeeb4c24a5589063710d3a057291b36835ee74fa9aa8f7a98fc4ce4ee4","request":"r1","version":"v1"},"kind":"charged","previous":"da6d3fc53790baef08c53bb263b95271526523990f0ad84350cb2f92ddd853cc","sequence":5,"time":"2026-11-15T11:09:24.875+00:00"}');
INSERT INTO "entries" VALUES(6,'368989ce7925ededa1447c97bd7941742e1a4f527a7ef7c319addd30ed3fea1e','{"by":"alice","facts":{"charge":5,"digest":"0db52f4076c082518412afd3dd3576e2cb0c63703fd7fed5e23ade60efef31d9","size":6},"kind":"released","previous":"c44dacd9ade4615b4c48ae7bfac502627007c19435fc48059b88a1cfc40c47ba","sequence":6,"time":"2026-11-15T11:09:24.878+00:00"}');
INSERT INTO "entries" VALUES(7,'659e0792fe3fbd82f580156ff221f7c561b9b536a34ae4b01518adc4ccafb0d6','{"by":"carol","facts":{"dataset":"visits","debits":{"[\"analyst\",\"carol\",\"visits\"]":["72072000000000000000000000000000000000000000000000000000000000000","0"],"[\"dataset\",\"visits\",null]":["72072000000000000000000000000000000000000000000000000000000000000","0"],"[\"link\",\"people\",null]":["72072000000000000000000000000000000000000000000000000000000000000","0"]},"measurements":[{"what":"count"}],"plan":"mean()","plan_digest":"cbfb899cc337f8caad01e4d9cffe979b2a211c2beabc26cc6d8b14cd4bfb14ac","prices":[{"amount":"1/10","delta":"0","measure":"epsilon","neighbours":"add-remove"}],"question":"29d2b496ba51fc725e310f8eed1906ca637d988e64932e8c4288c128a3125234","request":null,"version":"v1"},"kind":"charged","previous":"368989ce7925ededa1447c97bd7941742e1a4f527a7ef7c319addd30ed3fea1e","sequence":7,"time":"2026-11-15T11:09:24.880+00:00"}');
INSERT INTO "entries" VALUES(8,'5dbb39184c692dcb2ecb5509500d38dddc4fde570217bf8b0e6026a5ce4141db','{"by":"bob","facts":{"charge":5,"debits":{"[\"analyst\",\"bob\",\"visits\"]":["72072000000000000000000000000000000000000000000000000000000000000","0"]},"request":null},"kind":"shared","previous":"659e0792fe3fbd82f580156ff221f7c561b9b536a34ae4b01518adc4ccafb0d6","sequence":8,"time":"2026-11-15T11:09:24.885+00:00"}');
INSERT INTO "entries" VALUES(9,'3abde8aa0a51b4f7a6dcdac5c06c534a514f59c0e5e9f93259225b3666bbe8b5','{"by":"owner","facts":{"account":"[\"dataset\",\"visits\",null]","cap":{"amount":"2","delta":"0","measure":"epsilon","neighbours":"add-remove"},"reason":"a new study"},"kind":"raised","previous":"5dbb39184c692dcb2ecb5509500d38dddc4fde570217bf8b0e6026a5ce4141db","sequence":9,"time":"2026-11-15T11:09:24.888+00:00"}');
CREATE TABLE ledger (
        one INTEGER PRIMARY KEY CHECK (one = 1),
        id TEXT NOT NULL,
        version INTEGER NOT NULL,
        sequence INTEGER NOT NULL,
        hash TEXT NOT NULL
    ) STRICT;
INSERT INTO "ledger" VALUES(1,'ed4507731a5afb54dab7f283ade50eeb',1,9,'3abde8aa0a51b4f7a6dcdac5c06c534a514f59c0e5e9f93259225b3666bbe8b5');
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
