import { createHash } from 'node:crypto';

/**
 * What is remembered of a key is one string: for each window of the plan that came last `taken` and `atMs`, then for each
 * its quota (negative: refilled continuously) and windowMs (negative: aligned to UTC), all of them doubles; then that plan
 * as ARGV has it, by which the next request knows the numbers for those of its own plan and need not read them one by one.
 * Only if there is more to remember it goes on with `!`, the conduct, `!`, and the buckets of other plans.
 * A bucket that is full is 0, 0. All numbers are integers below 2^53, exact as doubles; Lua's own concatenation would print
 * 14 digits, so none is concatenated.
 */
const READ = `
local function read(stored)
  local buckets, i = {}, 1
  local head, text, conduct, others = string.match(stored, '^(.*)=([^=!]*)!?([^=!]*)!?([^=!]*)$')
  for field in string.gmatch(text, '([^ ;|]+ %d+ %a+)[^;]*;') do
    local taken, at = struct.unpack('<dd', head, i)
    if taken > 0 then buckets[#buckets + 1] = { field, taken, at } end
    i = i + 16
  end
  for field, taken, at in string.gmatch(others, '([^ ;]+ %d+ %a+) (%-?%d+) (%-?%d+);') do
    buckets[#buckets + 1] = { field, tonumber(taken), tonumber(at) }
  end
  return buckets, conduct
end
`;

/**
 * The rule of rule.ts, token-bucket.ts and ban.ts once more, as one atomic step of the server. It answers the state that
 * it found, and `decide` makes the decision from that, so that only what is remembered is worked out twice.
 *
 * ARGV: latest instant to act at, and the plan: `=`, its ban policy and whether refusals count (or nothing), `|`, then
 * `name windowMs refill quota align;` for each window. Then, as far as needed: cost (1 if not given; ms of a ban), mode
 * (`take` if not given), what is rarely given (reported strikes, the end of their count, how many do not ban yet, and unless
 * the server's clock rules now and the offset to UTC), and for each window two more: `charge` has what was taken elsewhere
 * and in how many ms that window ends, `refund` what to put back and the window's end as it was announced.
 *
 * Answers a request that passes by now and, for each window, taken and in how many ms at is, after it; anything else by now,
 * taken and at of each window as they were found, when the first other bucket is full, and the conduct if there is one.
 * Runs on Redis from 5 on and on Valkey: no flags, no functions, effects are what is replicated.
 */
export const SCRIPT = `
local key, plan, cost, mode = KEYS[1], ARGV[2], tonumber(ARGV[3] or 1), ARGV[4] or 'take'
local call, get, put, sub = redis.call, struct.unpack, struct.pack, string.sub

local now, offset
if ARGV[5] then
  now, offset = string.match(ARGV[5], '^%S+ %S+ %S+ (%S+) (%S+)$')
  now, offset = tonumber(now), tonumber(offset)
end
local isServerTime = now == nil
if isServerTime then
  local time = call('TIME')
  now = time[1] * 1000 + time[2] / 1000
  now = now - now % 1
  if now > tonumber(ARGV[1]) then return { now } end
end

local stored = call('GET', key)
local packed, others, conduct = stored, nil, nil
local isKnown = stored and sub(stored, -#plan) == plan
if not isKnown then
  ${READ}
  local states, quotas = '', ''
  others, conduct = read(stored or '=')
  for field, ms, refill, quota, align in string.gmatch(plan, '([^ ;|]+ (%d+) (%a+)) (%d+) (%a+);') do
    local taken, at = 0, 0
    for i, bucket in ipairs(others) do
      if bucket[1] == field then
        taken, at = bucket[2], bucket[3]
        table.remove(others, i)
        break
      end
    end
    states = states .. put('<dd', taken, at)
    quotas = quotas .. put('<dd', refill == 'continuous' and -quota or quota, align == 'utc' and -ms or ms)
  end
  packed = states .. quotas .. plan
end

-- A window as of now: taken, at, quota, what one token counts, how much later than at it is full, when it was to be full.
local n = (#packed - #plan) / 32
local function settle(i)
  local taken, at = get('<dd', packed, 16 * i - 15)
  local quota, ms = get('<dd', packed, 16 * (n + i) - 15)
  if quota < 0 then
    local deficit = math.min(taken, -quota * ms) + math.min(math.max(0, now - at), ms) * quota
    return math.max(0, deficit), now, -quota * ms, ms, ms, at + ms
  end
  local window = ms < 0 and -ms or ms
  if taken == 0 or at <= now then
    return 0, now + window - (ms < 0 and math.fmod(now + (offset or 0), window) or 0), quota, 1, 0, at
  end
  return taken, at > now + window and now + window or at, quota, 1, 0, at
end

-- Mostly a request passes and there is nothing else to remember.
if mode == 'take' and cost > 0 and (isKnown or conduct == '' and #others == 0) then
  local answer, states, before, after = { now, nil, nil, nil, nil }, '', 0, 0
  for i = 1, n do
    local taken, at, quota, unit, length, till = settle(i)
    taken = taken + cost * unit
    if taken > quota then
      answer = nil
      break
    end
    answer[2 * i], answer[2 * i + 1] = taken, at - now
    if till > before then before = till end
    if at + length > after then after = at + length end
    states = states .. put('<dd', taken, at)
  end
  if answer then
    if isKnown then
      call('SETRANGE', key, '0', states)
    else
      call('SET', key, states .. sub(packed, 16 * n + 1))
    end
    if isServerTime and not (isKnown and after == before) then call('PEXPIREAT', key, after) end
    return answer
  end
end

local min, max, isTake, isOver, after = math.min, math.max, mode == 'take' or mode == 'peek', false, 0
local answer = { now }
for i = 1, n do
  local taken, _, quota, unit = settle(i)
  answer[2 * i], answer[2 * i + 1] = get('<dd', packed, 16 * i - 15)
  if taken + cost * unit > quota then isOver = true end
end

if conduct == '' then conduct = nil end
local function numbers(text)
  local list = {}
  for word in string.gmatch(text, '%S+') do list[#list + 1] = tonumber(word) end
  return list
end

local strikes, strikesEnd, most = unpack(numbers(ARGV[5] or ''))
local found, c, ban, counts = nil, nil, nil, false
local policy = string.match(plan, '=([^|]+)|')
if policy and (conduct or isOver) then
  local b = numbers(policy)
  ban = { after = b[1], within = b[2], grace = b[3], base = b[4], factor = b[5], most = b[6], forget = b[7] }
  counts = b[8] == 1
end
if conduct then
  found = numbers(conduct)
  c = { refusedAt = found[1], strikes = found[2], strikesEnd = found[3], banEnd = found[4], banMs = found[5],
    level = found[6], forgetAt = found[7] }
  if strikes and c.strikes > 0 and c.strikesEnd == strikesEnd then
    c.strikes = max(c.strikes, min(c.strikes + strikes, most))
    found[2] = c.strikes
  end
end

local passes = false
if isTake then
  local isBanned = false
  if c then
    c.refusedAt = min(c.refusedAt, now)
    if c.strikesEnd <= now then
      c.strikes, c.strikesEnd = 0, 0
    elseif ban then
      c.strikesEnd = min(c.strikesEnd, now + ban.within)
    end
    if c.banEnd <= now then
      c.banEnd, c.banMs = 0, 0
    else
      c.banEnd = min(c.banEnd, now + c.banMs)
    end
    if c.forgetAt <= now then
      c.level, c.forgetAt = 0, 0
    elseif ban then
      c.forgetAt = min(c.forgetAt, now + ban.most + ban.forget)
    end
    isBanned = c.banEnd > 0
  end
  passes = not isOver and not isBanned
  if cost > 0 and passes and c then
    c.refusedAt, c.strikes, c.strikesEnd = 0, 0, 0
  elseif cost > 0 and not passes and not isBanned then
    if counts then
      c = c or { refusedAt = 0, strikes = 0, strikesEnd = 0, banEnd = 0, banMs = 0, level = 0, forgetAt = 0 }
      if c.refusedAt == 0 then
        c.refusedAt = now
      elseif now - c.refusedAt > ban.grace then
        if c.strikes == 0 then c.strikesEnd = now + ban.within end
        c.strikes = c.strikes + 1
        if c.strikes >= ban.after then
          c.banMs = min(ban.most, ban.base * ban.factor ^ c.level)
          c.refusedAt, c.strikes, c.strikesEnd, c.banEnd = 0, 0, 0, now + c.banMs
          c.level, c.forgetAt = c.level + 1, c.banEnd + ban.forget
        end
      end
    end
  end
elseif mode == 'ban' then
  c = c or { level = 0, forgetAt = 0 }
  c.refusedAt, c.strikes, c.strikesEnd, c.banEnd, c.banMs = 0, 0, 0, now + cost, cost
end

local states, isEmpty = '', true
for i = 1, n do
  local storedAt, isStored, isChanged = answer[2 * i + 1], answer[2 * i] > 0, false
  local taken, at, _, unit, length = settle(i)
  if passes and cost > 0 then
    isChanged, taken = true, taken + cost * unit
  elseif isTake then
    isChanged = isStored and at < storedAt and taken > 0
  elseif mode == 'charge' then
    local more = tonumber(ARGV[2 * i + 4])
    if taken == 0 and length == 0 then at = min(at, now + tonumber(ARGV[2 * i + 5])) end
    isChanged, taken = more > 0, taken + more
  elseif mode == 'refund' then
    local resetAt = tonumber(ARGV[2 * i + 5])
    isChanged = isStored and resetAt > now and (length > 0 or storedAt == resetAt)
    taken = taken - tonumber(ARGV[2 * i + 4]) * unit
  end
  if not isChanged then
    taken, at = answer[2 * i], storedAt
    if isTake and at + length <= now then taken = 0 end
  end
  if taken > 0 then
    isEmpty, after = false, max(after, at + length)
  else
    taken, at = 0, 0
  end
  states = states .. put('<dd', taken, at)
end

local soonest, kept = 0, {}
for _, bucket in ipairs(others or {}) do
  local ms, refill = string.match(bucket[1], ' (%d+) (%a+)$')
  local till = bucket[3] + (refill == 'continuous' and ms or 0)
  if soonest == 0 or till < soonest then soonest = till end
  if till > now or not isTake then
    kept[#kept + 1] = string.format('%s %.0f %.0f;', unpack(bucket))
    after = max(after, till)
  end
end

local text = ''
if c and mode ~= 'unban' and (c.refusedAt ~= 0 or c.strikes ~= 0 or c.banEnd ~= 0 or c.level ~= 0) then
  after = max(after, c.banEnd, c.forgetAt)
  text = string.format('%.0f %.0f %.0f %.0f %.0f %.0f %.0f',
    c.refusedAt, c.strikes, c.strikesEnd, c.banEnd, c.banMs, c.level, c.forgetAt)
end

if mode ~= 'peek' then
  local value = states .. sub(packed, 16 * n + 1)
  if text ~= '' or #kept > 0 then value = value .. '!' .. text .. '!' .. table.concat(kept) end
  if isEmpty and text == '' and #kept == 0 then
    if stored then call('DEL', key) end
  elseif value ~= stored then
    call('SET', key, value)
    if isServerTime then call('PEXPIREAT', key, after) end
  end
end
answer[2 * n + 2] = soonest
for i = 1, found and 7 or 0 do answer[2 * n + 2 + i] = found[i] end
return answer
`;

export const SCRIPT_SHA = createHash('sha1').update(SCRIPT).digest('hex');

/** A write that changes nothing and leaves nothing behind: it fails where the script's would. */
export const PROBE = "if redis.call('APPEND', KEYS[1], '') == 0 then redis.call('DEL', KEYS[1]) end";

/** The conduct, `!`, and each bucket, as a text: what is stored is none. */
export const INSPECT = `${READ}
local buckets, conduct = read(redis.call('GET', KEYS[1]) or '=')
for i, bucket in ipairs(buckets) do buckets[i] = string.format('%s %.0f %.0f;', unpack(bucket)) end
return conduct .. '!' .. table.concat(buckets)
`;
