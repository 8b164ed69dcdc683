-- Does the same on every shard of KEYS. ARGV: one value for all, then one for each shard if the script has one. A shard
-- whose records are damaged replies `error` and the message, and affects no other.
-- include names

local function each_shard(handle)
  local found = {}
  for i = 1, #KEYS do
    enter(KEYS[i])
    local is_done, answer = pcall(handle, ARGV[i + 1])
    found[i] = is_done and answer or {'error', type(answer) == 'table' and answer.err or tostring(answer)}
  end
  return found
end
