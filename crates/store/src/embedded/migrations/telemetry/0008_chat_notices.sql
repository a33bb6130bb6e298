-- Events that someone may want to be told of. A row is written with its event and goes once it is
-- settled who is told, so that no crash in between loses one.
CREATE TABLE chat_notice (
    no INTEGER PRIMARY KEY
);
