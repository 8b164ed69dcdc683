-- Secrets and expiry. `exp` of a key is when it expires, and `sec` its secrets and their ends, `hash ms` or `hash -`
-- each. Both are empty for a key without. A key that was never rotated has the secret that names it.

local function is_over(until_ms, now) return until_ms and until_ms ~= '' and tonumber(until_ms) <= now end
local function is_secret(sec, keyhash, secret, now)
  if not sec or sec == '' then return secret == keyhash end
  for hash, ends in string.gmatch(sec, '(%S+) (%S+)') do
    if hash == secret then return ends == '-' or tonumber(ends) > now end
  end
  return false
end
