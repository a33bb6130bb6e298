-- A budget is a conversation's: a fork goes on from what its parent had spent, and costs that may be
-- higher say so. What the agent counted before a fork began is what its parent had spent.
ALTER TABLE chat ADD COLUMN is_at_least BIGINT NOT NULL DEFAULT 0;
ALTER TABLE chat ADD COLUMN spent_before BIGINT NOT NULL DEFAULT 0;
UPDATE chat SET spent_before = max(agent_cost - cost, 0) WHERE parent IS NOT NULL;
-- Trust and tool servers are worked out whenever an agent is started, so that no keys of tool
-- servers lie here.
UPDATE chat SET setting = json_remove(setting, '$.mcp', '$.trusts_workspace');
