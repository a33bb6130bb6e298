-- Who was removed, as other servers know them: they are not admitted again as newcomers.
CREATE TABLE barred_identity (
    issuer  TEXT NOT NULL,
    subject TEXT NOT NULL,
    PRIMARY KEY (issuer, subject)
);
