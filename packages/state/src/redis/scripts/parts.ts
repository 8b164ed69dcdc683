import { lateMs } from '../../bounds.ts';

/**
 * Parts of the Lua scripts in this folder. Each script is one atomic step on one shard. `KEYS[1]` is the shard's epoch key, which
 * routes the script in a cluster. The other names have the same prefix and slot. Amounts are integers below 2^53.
 *
 * Every step of a caller begins with ARGV: client, epoch, acked, lease until (`membership/membership.ts`). It returns the number of
 * the caller's steps first, negative if this step was one. A refused step returns `refused`, the reason and the shard's epoch.
 *
 * Some scripts do the steps of several requests in one call, on one shard after the other. `enter` chooses the shard.
 */

export const names = `
local EPOCH, P, HOLDS, NOTES, CLIENTS, COUNTED
local function enter(epoch_key)
  EPOCH, P = epoch_key, string.sub(epoch_key, 1, -6)
  HOLDS, NOTES, CLIENTS, COUNTED = P .. 'holds', P .. 'notes', P .. 'clients', P .. 'counted'
end
enter(KEYS[1])
local function wallet_key(id) return P .. 'wallet:' .. id end
local function key_key(hash) return P .. 'key:' .. hash end
local function workspace_key(id) return P .. 'workspace:' .. id end
local function done_key(id) return P .. 'done:' .. id end
local function reaped_key(id) return P .. 'reaped:' .. id end
local function reaped_budgets_key(id) return P .. 'reaped:budgets:' .. id end
local function ticket_key(hash) return P .. 'ticket:' .. hash end
local function now_ms(given)
  if given ~= '' then return tonumber(given) end
  local t = redis.call('TIME')
  return t[1] * 1000 + math.floor(t[2] / 1000)
end
local function int(value) return string.format('%.0f', value) end
`;

/**
 * Monthly budgets. A key names its budgets in `bud`, and a name without a budget limits nothing. A budget is a hash: `limit`, `ver`,
 * and for each month `spent`, which is the ledger's and only rises, and `open`. `open` is the sum of the holds and notes that count
 * in the budget: each has an entry in COUNTED, `month amount budgets`. A budget without a limit was removed, or has not come yet. It expires. The month is UTC, `YYYY-MM`, from
 * days since 1970 by Howard Hinnant's `civil_from_days`.
 *
 * `find_exhausted` returns the scope and the limit of the first budget that does not cover an amount. Brokers see the scope. The name
 * would link requests. If all cover it, the third value is the names that have a budget.
 */
export const budgets = `
local function budget_key(id) return P .. 'budget:' .. id end
local function month_of(ms)
  local days = math.floor(ms / 86400000) + 719468
  local era = math.floor(days / 146097)
  local doe = days - era * 146097
  local yoe = math.floor((doe - math.floor(doe / 1460) + math.floor(doe / 36524) - math.floor(doe / 146096)) / 365)
  local mp = math.floor((5 * (doe - 365 * yoe - math.floor(yoe / 4) + math.floor(yoe / 100)) + 2) / 153)
  local month = mp < 10 and mp + 3 or mp - 9
  return string.format('%04d-%02d', yoe + era * 400 + (month < 3 and 1 or 0), month)
end
local function add_open(month, amount, ids)
  if amount == '0' or amount == '-0' then return end
  for id in string.gmatch(ids, '%S+') do
    if redis.call('HEXISTS', budget_key(id), 'limit') == 1 then redis.call('HINCRBY', budget_key(id), 'open ' .. month, amount) end
  end
end
local function count_in(what, month, amount, ids, present)
  if not ids or ids == '' then return end
  redis.call('HSET', COUNTED, what, month .. ' ' .. amount .. ' ' .. ids)
  if not present then return add_open(month, amount, ids) end
  for id in string.gmatch(present, '%S+') do redis.call('HINCRBY', budget_key(id), 'open ' .. month, amount) end
end
local function uncount(what)
  local text = redis.call('HGET', COUNTED, what)
  if not text then return nil end
  local month, amount, ids = string.match(text, '^(%S+) (%S+) (.+)$')
  redis.call('HDEL', COUNTED, what)
  add_open(month, '-' .. amount, ids)
  return month, ids
end
local function find_exhausted(ids, month, amount)
  local present = ''
  for id in string.gmatch(ids or '', '%S+') do
    local b = redis.call('HMGET', budget_key(id), 'limit', 'spent ' .. month, 'open ' .. month)
    if b[1] then
      if tonumber(b[1]) - tonumber(b[2] or 0) - tonumber(b[3] or 0) < amount then return string.match(id, '^%a+'), b[1] end
      present = present .. ' ' .. id
    end
  end
  return nil, nil, present
end
local function set_spent(id, month, spent)
  local b = redis.call('HMGET', budget_key(id), 'spent ' .. month, 'limit')
  if tonumber(b[1] or 0) < tonumber(spent) then
    redis.call('HSET', budget_key(id), 'spent ' .. month, spent)
    if not b[2] then redis.call('PEXPIRE', budget_key(id), ${lateMs}) end
  end
end
`;

/**
 * Checks whether the caller, who stands in ARGV from `at`, may take this step. Only reads, unless it ends an epoch because the shard has lost data: an epoch older
 * than the caller's, or one that forgot answered steps. Kinds: 'admit' and 'settle' need an open epoch, 'project' any.
 */
export const guard = `
local function guard(kind, at)
  at = at or 1
  local client = ARGV[at]
  local e = redis.call('HMGET', EPOCH, 'id', 'open')
  if not e[1] then return nil, {'refused', 'not_ready', 0} end
  local mine, theirs = tonumber(ARGV[at + 1]), tonumber(e[1])
  if mine < theirs then return nil, {'refused', 'new_epoch', theirs} end
  if mine > theirs then
    redis.call('DEL', EPOCH)
    return nil, {'refused', 'rolled_back', theirs}
  end
  local c = redis.call('HMGET', CLIENTS, client .. ' n', client .. ' lapsed')
  if c[2] then return nil, {'refused', 'lapsed', theirs} end
  if tonumber(c[1] or 0) < tonumber(ARGV[at + 2]) then
    redis.call('DEL', EPOCH)
    return nil, {'refused', 'rolled_back', theirs}
  end
  if kind == 'join' then return tonumber(c[1] or 0), nil, e[1] end
  if not c[1] then return nil, {'refused', 'not_joined', theirs} end
  if kind ~= 'project' and e[2] ~= '1' then return nil, {'refused', 'not_open', theirs} end
  return tonumber(c[1]), nil, e[1]
end
local function count() return -redis.call('HINCRBY', CLIENTS, ARGV[1] .. ' n', 1) end
`;

/**
 * Removes a hold from its wallet, key and budgets. Deletes first, because a Redis that is out of memory refuses only the first write of a
 * script, and holds must still end there. A hold of a free route is 0, and '-0' is not an integer. A hold is
 * `client amount tokens window wallet key ticket`, and `-` means no ticket.
 */
export const holds = `
local function read_hold(id)
  local text = redis.call('HGET', HOLDS, id)
  if not text then return nil end
  local h = {}
  h.client, h.amount, h.tokens, h.window, h.wallet, h.key, h.ticket = string.match(text, '^(%S+) (%S+) (%S+) (%S+) (%S+) (%S+) (%S+)$')
  return h
end
local function release(id)
  local h = read_hold(id)
  if not h then return nil end
  redis.call('HDEL', HOLDS, id)
  if h.amount ~= '0' then
    redis.call('HINCRBY', wallet_key(h.wallet), 'held', '-' .. h.amount)
    redis.call('HINCRBY', key_key(h.key), 'held', '-' .. h.amount)
  end
  h.month, h.budgets = uncount('hold ' .. id)
  rest(h.key)
  return h
end
local function write_hold(id, client, amount, tokens, window, wallet, key, ticket, month, ids, present)
  redis.call('HSET', HOLDS, id, client .. ' ' .. amount .. ' ' .. tokens .. ' ' .. window .. ' ' .. wallet .. ' ' .. key .. ' ' .. ticket)
  redis.call('HINCRBY', wallet_key(wallet), 'held', amount)
  count_in('hold ' .. id, month, amount, ids, present)
end
local function place_hold(id, client, amount, tokens, window, wallet, key, ticket, month, ids)
  write_hold(id, client, amount, tokens, window, wallet, key, ticket, month, ids)
  redis.call('HINCRBY', key_key(key), 'held', amount)
  rest(key)
end
`;

/**
 * Records of keys and workspaces. A key's record has `wallet` and `ws`, which names its workspace's record, while requests may use the
 * key. Without them it was removed, or has not come yet. Then it only has `gen`, and amounts, and expires with the last of its holds and
 * notes. A workspace's record has the version `ver` of its preferences `pref`, the oldest version `since` whose tickets are still valid,
 * `n` keys that name it, and `off` if the preferences are unreadable. Without keys it only has `ver`, and expires. Whatever expires is kept for longer than a projection can be late, because
 * an older one that arrives later must not bring back what was removed.
 *
 * `generation_of` returns a key's generation, which changes with the preferences, too, and whether a ticket of another generation is
 * still valid. Nil: the preferences are missing, or unreadable. `shown` is what brokers see of a generation.
 */
export const records = `
local function rest(key)
  local k = redis.call('HMGET', key_key(key), 'wallet', 'held', 'unbooked')
  if k[1] then return end
  if tonumber(k[2] or 0) == 0 and tonumber(k[3] or 0) == 0 then
    redis.call('PEXPIRE', key_key(key), ${lateMs})
  else
    redis.call('PERSIST', key_key(key))
  end
end
local function count_keys(workspace, by)
  local name = workspace_key(workspace)
  if redis.call('HINCRBY', name, 'n', by) > 0 then
    redis.call('PERSIST', name)
  else
    redis.call('HDEL', name, 'pref', 'off')
    redis.call('PEXPIRE', name, ${lateMs})
  end
end
local function generation_of(gen, workspace)
  local w = redis.call('HMGET', workspace_key(workspace), 'ver', 'off', 'since')
  if not w[1] or w[2] then return nil, w[2] end
  local function is_valid(ticket)
    local of_key, version = string.match(ticket or '', '^(%d+)%.(%d+)$')
    return of_key == gen and tonumber(version) >= tonumber(w[3] or w[1]) and tonumber(version) <= tonumber(w[1])
  end
  return gen .. '.' .. w[1], nil, is_valid
end
local function shown(wallet, key, generation) return redis.sha1hex(wallet .. ' ' .. key .. ' ' .. generation) end
`;

/**
 * Secrets and expiry. `exp` of a key is when it expires, and `sec` its secrets and their ends, `hash ms` or `hash -` each. Both are
 * empty for a key without. A key that was never rotated has the secret that names it.
 */
export const secrets = `
local function is_over(until_ms, now) return until_ms and until_ms ~= '' and tonumber(until_ms) <= now end
local function is_secret(sec, keyhash, secret, now)
  if not sec or sec == '' then return secret == keyhash end
  for hash, ends in string.gmatch(sec, '(%S+) (%S+)') do
    if hash == secret then return ends == '-' or tonumber(ends) > now end
  end
  return false
end
`;

/**
 * Tickets and rate limits. `read_mark` returns the key of a ticket that can be redeemed in this epoch, and its generation.
 * A key's `w`, `r` and `t` are the last minute in which it was used, and its requests and tokens in that minute.
 * `read_rate` returns the present minute and its usage.
 */
export const rights = `
local function read_mark(hash, epoch)
  local mark = redis.call('GET', ticket_key(hash)) or ''
  local of_epoch, key, generation = string.match(mark, '^(%d+) %S+ (%S+) ([%d.]+)$')
  if of_epoch ~= epoch then return nil end
  return key, generation
end
local function read_rate(now, w, r, t)
  local window = math.floor(now / 60000)
  if w and tonumber(w) == window then return window, tonumber(r), tonumber(t) end
  return window, 0, 0
end
local function rate_status(limit_requests, limit_tokens, now, window, requests, tokens)
  limit_requests, limit_tokens = tonumber(limit_requests or 0), limit_tokens or '0'
  return limit_requests, math.max(0, limit_requests - requests), limit_tokens, int(math.max(0, limit_tokens - tokens)), (window + 1) * 60000 - now
end
`;

/**
 * Notes of unbooked charges: `wallet key amount` by hold id. A wallet or key with many of them is written once. A damaged one fails
 * the script only when all others are written, because a repeated call no longer finds the notes.
 */
export const notes = `
local function drop_notes(ids, from)
  local sums, keys, dropped = {}, {}, {}
  local function add(name, amount) sums[name] = (sums[name] or 0) + tonumber(amount) end
  for i = from, #ids do
    local wallet, key, amount = string.match(redis.call('HGET', NOTES, ids[i]) or '', '^(%S+) (%S+) (%d+)$')
    if wallet then
      redis.call('HDEL', NOTES, ids[i])
      dropped[#dropped + 1] = ids[i]
      add(wallet_key(wallet), amount)
      add(key_key(key), amount)
      keys[key] = true
    end
  end
  local failure
  for name, sum in pairs(sums) do
    local written = redis.pcall('HINCRBY', name, 'unbooked', int(-sum))
    if type(written) == 'table' and written.err then failure = written.err end
  end
  for key in pairs(keys) do
    local is_done, err = pcall(rest, key)
    if not is_done then failure = type(err) == 'table' and err.err or err end
  end
  for _, id in ipairs(dropped) do uncount('note ' .. id) end
  if failure then error(failure) end
end
local function place_note(id, wallet, key, amount, month, ids)
  if amount == '0' or redis.call('HSETNX', NOTES, id, wallet .. ' ' .. key .. ' ' .. amount) == 0 then return end
  redis.call('HINCRBY', wallet_key(wallet), 'unbooked', amount)
  redis.call('HINCRBY', key_key(key), 'unbooked', amount)
  rest(key)
  count_in('note ' .. id, month, amount, ids)
end
`;

/**
 * For scripts that must work in a Redis that is out of memory. It refuses only the first write of a script, unless that is a
 * deletion. The settler needs this, because its work frees memory.
 */
export const spaceless = `
local function spaceless() redis.call('HDEL', CLIENTS, 'none') end
`;

/**
 * Releases the holds of former members. They can still be settled. A damaged one fails the script only when all others are
 * released, because a repeated call no longer finds a member that has just lapsed.
 */
export const releaseAbandoned = `
local function release_abandoned(alive)
  local released, failure = 0, nil
  for _, id in ipairs(redis.call('HKEYS', HOLDS)) do
    if not alive[read_hold(id).client] then
      local is_released, h = pcall(release, id)
      if is_released then
        redis.call('SET', reaped_key(id), h.wallet .. ' ' .. h.key, 'PX', 86400000)
        if h.month then redis.call('SET', reaped_budgets_key(id), h.month .. ' ' .. h.budgets, 'PX', 86400000) end
        released = released + 1
      else
        failure = h
      end
    end
  end
  if failure then error(failure) end
  return released
end
local function read_clients()
  local found, clients = redis.call('HGETALL', CLIENTS), {}
  for i = 1, #found, 2 do
    local client, field = string.match(found[i], '^(%S+) (%S+)$')
    clients[client] = clients[client] or {}
    clients[client][field] = tonumber(found[i + 1])
  end
  return clients
end
local function lapse(client, now)
  redis.call('HDEL', CLIENTS, client .. ' n', client .. ' until', client .. ' suspect')
  redis.call('HSET', CLIENTS, client .. ' lapsed', int(now))
end
`;

/**
 * Does the steps of several requests in one call. ARGV: one value for all, then for each shard in the order of KEYS: client, epoch,
 * acked, lease until, number of requests, and `width` values for each request. `handle` gets the place of a request's values, the
 * client and the epoch, and returns a reply and whether it changed something. Each change counts as one step. Returns for each
 * shard the number of the caller's steps, how many of them are new, and the replies, or its refusal. A refused shard or request
 * does not affect the others, and neither does one that fails on a damaged record: its reply is `error` and the message. It may have
 * changed something before, so it counts, except that joining is no step.
 */
export const batches = `
local function message_of(failure) return type(failure) == 'table' and failure.err or tostring(failure) end
local function each_request(kind, width, handle, find_refusal)
  local found, at = {}, 2
  for i = 1, #KEYS do
    enter(KEYS[i])
    local client, requests = ARGV[at], tonumber(ARGV[at + 4])
    local is_read, n, reply, epoch = pcall(guard, kind, at)
    if is_read and not reply and find_refusal then is_read, reply = pcall(find_refusal, at, epoch) end
    if not is_read then
      reply = {'error', message_of(reply or n)}
    elseif not reply then
      local steps, failures = 0, 0
      reply = {n, 0}
      for r = 1, requests do
        local is_done, answer, is_step = pcall(handle, at + 5 + (r - 1) * width, client, epoch)
        if not is_done then
          answer = {'error', message_of(answer)}
          if kind ~= 'join' then failures = failures + 1 end
        elseif is_step then
          steps = steps + 1
        end
        reply[r + 2] = answer
      end
      -- A Redis that is out of memory refuses this write if it refused those of all requests.
      local count = steps > 0 and redis.call or redis.pcall
      if steps + failures > 0 then
        local counted = count('HINCRBY', CLIENTS, client .. ' n', steps + failures)
        if type(counted) == 'number' then reply[1], reply[2] = counted, steps + failures end
      end
    end
    found[i] = reply
    at = at + 5 + requests * width
  end
  return found
end
`;

/**
 * Does the same on every shard of KEYS. ARGV: one value for all, then one for each shard if the script has one. A shard whose records
 * are damaged replies `error` and the message, and affects no other.
 */
export const eachShard = `
local function each_shard(handle)
  local found = {}
  for i = 1, #KEYS do
    enter(KEYS[i])
    local is_done, answer = pcall(handle, ARGV[i + 1])
    found[i] = is_done and answer or {'error', type(answer) == 'table' and answer.err or tostring(answer)}
  end
  return found
end
`;
