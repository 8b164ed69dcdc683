-- A secret that has ended is refused like a revoked key, whatever the broker remembers. `generation` is that of a key
-- as it was shown. ARGV[1] is now. `terms` is 'free', or a rounded amount that is held instead as far as it is
-- available, or ''. Only the key itself is told an amount: a ticket hides whose it is. What is left of a budget that keys
-- share would link them, so only what is left of the key's own limit and budget is told.
-- args kind hash generation holdId amount estimatedTokens terms secretHash
-- include batches holds rights refusals secrets

local now = now_ms(ARGV[1])
local this_month, window_text = month_of(now), int(math.floor(now / 60000))
local function find_refusal(at, epoch)
  if tonumber(ARGV[at + 3]) <= now then return {'refused', 'unleased', tonumber(epoch)} end
end
return each_request('admit', 8, function(at, client, epoch)
  local by_ticket, right, generation = ARGV[at] == 'ticket', ARGV[at + 1], ARGV[at + 2]
  local hold_id, amount, estimated, is_free = ARGV[at + 3], tonumber(ARGV[at + 4]), tonumber(ARGV[at + 5]), ARGV[at + 6] == 'free'
  local held_text, rounded = ARGV[at + 4], tonumber(ARGV[at + 6])
  if redis.call('EXISTS', done_key(hold_id)) == 1 then return {'closed'} end

  local keyhash = right
  local repeated = read_hold(hold_id)
  if repeated then
    keyhash = repeated.key
  elseif by_ticket then
    keyhash, generation = read_mark(right, epoch)
    if not keyhash then return {'invalid_ticket'} end
  end

  local k = redis.call('HMGET', key_key(keyhash), 'ws', 'gen', 'wallet', 'funds', 'held', 'unbooked', 'lreq', 'ltok', 'bud', 'exp', 'sec', 'w', 'r', 't', 'cnt')
  local window, requests, tokens = read_rate(now, k[12], k[13], k[14])
  local limit_requests, limit_tokens = k[7], k[8]
  local function reply(result, detail)
    return {result, detail, rate_status(limit_requests, limit_tokens, now, window, requests, tokens)}
  end
  local function count_as(kind)
    if k[15] == '1' then count_refusal(now, epoch, keyhash, kind) end
  end
  local function refuse(kind, result, detail)
    count_as(kind)
    return reply(result, detail)
  end
  if repeated then
    return reply('admitted', rounded and repeated.month .. ' ' .. repeated.amount or repeated.month)
  end

  local opens = k[1] and not is_over(k[10], now) and (by_ticket or is_secret(k[11], keyhash, ARGV[at + 7], now))
  local current, is_off, is_valid
  if opens then current, is_off, is_valid = generation_of(k[2], k[1]) end
  if not opens or is_off then return {by_ticket and 'invalid_ticket' or 'unknown_key'} end
  if not current then return {'not_projected'} end
  if by_ticket and not is_valid(generation) then return {'invalid_ticket'} end
  if not by_ticket then current = shown(k[3], keyhash, current) end
  if not by_ticket and current ~= generation then
    return {'stale_key', redis.call('HGET', key_key(keyhash), 'rec'), current, redis.call('HGET', workspace_key(k[1]), 'pref')}
  end
  if requests + 1 > tonumber(limit_requests) then return refuse('requests', 'rate_limited', 'requests') end
  if tokens > 0 and tokens + estimated > tonumber(limit_tokens) then return refuse('tokens', 'rate_limited', 'tokens') end

  local w = redis.call('HMGET', wallet_key(k[3]), 'funds', 'held', 'unbooked')
  if not w[1] then return {'not_projected'} end
  local scope, limit, limited
  if not is_free then
    local available = tonumber(w[1]) - tonumber(w[2] or 0) - tonumber(w[3] or 0)
    if available < amount then return refuse('balance', 'insufficient', 'wallet') end
    if k[4] and k[4] ~= '' then
      local left = tonumber(k[4]) - tonumber(k[5] or 0) - tonumber(k[6] or 0)
      if left < amount then return refuse('key_limit', 'insufficient', by_ticket and 'key' or 'key ' .. int(left)) end
      available = math.min(available, left)
    end
    scope, limit, limited = find_exhausted(k[9], this_month, amount)
    if scope then
      count_as(scope .. '_budget')
      local told = by_ticket and '' or scope == 'key' and limit .. ' ' .. int(limited) or limit
      return {'over_budget', scope, this_month, told, rate_status(limit_requests, limit_tokens, now, window, requests, tokens)}
    end
    if rounded then
      amount = math.min(rounded, available)
      held_text = int(amount)
    end
  end

  if by_ticket then redis.call('SET', ticket_key(right), 'used:' .. hold_id .. ' ' .. generation, 'KEEPTTL') end
  write_hold(hold_id, client, held_text, ARGV[at + 5], window_text, k[3], keyhash, by_ticket and right or '-', this_month, k[9])
  for id in string.gmatch(limited or '', '%S+') do redis.call('HINCRBY', budget_key(id), 'open ' .. this_month, held_text) end
  if is_free then add_open(this_month, held_text, k[9]) end
  raise()
  requests, tokens = requests + 1, tokens + estimated
  local held = int(tonumber(k[5] or 0) + amount)
  if k[12] == window_text then
    redis.call('HSET', key_key(keyhash), 'held', held, 'r', requests, 't', int(tokens))
  else
    redis.call('HSET', key_key(keyhash), 'held', held, 'r', requests, 't', int(tokens), 'w', window_text)
  end
  return reply('admitted', rounded and this_month .. ' ' .. held_text or this_month), true
end, find_refusal)
