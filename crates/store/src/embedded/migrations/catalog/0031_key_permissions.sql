-- What a key may do beyond its project. Owners' keys keep what they could do; members' keys could
-- start chats in any folder, and are granted that anew where it is wanted.
ALTER TABLE api_key ADD COLUMN permissions TEXT NOT NULL DEFAULT '';
UPDATE api_key SET permissions = 'chat backup administration' WHERE role = 'owner';
