import { createHash } from 'node:crypto';

/**
 * The rule of rule.ts, token-bucket.ts and ban.ts once more, as one atomic step of the server. It answers the state that
 * it found, and `decide` makes the decision from that, so that only what is remembered is worked out twice.
 *
 * A hash per key: a field for each bucket, `name windowMs refill` → `taken atMs`, and `conduct` → its numbers. Numbers
 * are printed with `%.0f`, because Lua prints 14 digits otherwise, and they are doubles: exact, as they are here.
 *
 * ARGV: mode, now (empty: the server's clock), offset to UTC, latest instant to act at, cost (ms of a ban), reported
 * strikes, the end of their count, ban policy (empty: none), whether refusals count, then for each window its field,
 * quota, windowMs, how it is refilled, and unless tokens are taken or peeked at two more: `charge` has what was taken elsewhere
 * and in how many ms that window ends, `refund` what to put back and the window's end as it was announced.
 *
 * Runs on Redis from 5 on and on Valkey: no flags, no functions, effects are what is replicated.
 */
export const SCRIPT = `
local key, mode, cost = KEYS[1], ARGV[1], tonumber(ARGV[5])
local now = tonumber(ARGV[2])
local isServerTime = now == nil
if isServerTime then
  local time = redis.call('TIME')
  now = time[1] * 1000 + math.floor(time[2] / 1000)
  if now > tonumber(ARGV[4]) then return string.format('%.0f', now) end
end
local min, max, format, match = math.min, math.max, string.format, string.match

local values = {}
local stored = redis.call('HGETALL', key)
for i = 1, #stored, 2 do values[stored[i]] = stored[i + 1] end

local ban
local function readBan()
  local after, within, grace, base, factor, most, forget = match(ARGV[8], '(%d+) (%d+) (%d+) (%d+) (%d+) (%d+) (%d+)')
  if after then
    ban = { after = tonumber(after), within = tonumber(within), grace = tonumber(grace), base = tonumber(base),
      factor = tonumber(factor), most = tonumber(most), forget = tonumber(forget) }
  end
end

local function printed(c)
  return format('%.0f %.0f %.0f %.0f %.0f %.0f %.0f',
    c.refusedAt, c.strikes, c.strikesEnd, c.banEnd, c.banMs, c.level, c.forgetAt)
end

local before, after = 0, 0
local found, c = values.conduct, nil
if found then
  readBan()
  local a, s, e, b, m, l, f = match(found, '(%S+) (%S+) (%S+) (%S+) (%S+) (%S+) (%S+)')
  c = { refusedAt = tonumber(a), strikes = tonumber(s), strikesEnd = tonumber(e), banEnd = tonumber(b),
    banMs = tonumber(m), level = tonumber(l), forgetAt = tonumber(f) }
  before = max(c.banEnd, c.forgetAt)
  if ban and ARGV[6] ~= '0' and c.strikes > 0 and c.strikesEnd == tonumber(ARGV[7]) then
    c.strikes = max(c.strikes, min(c.strikes + tonumber(ARGV[6]), ban.after - 1))
    found = printed(c)
  end
end

local isTake = mode == 'take' or mode == 'peek'
local windows, answer, isOver = {}, { format('%.0f', now) }, false
for i = 10, #ARGV, isTake and 4 or 6 do
  local quota, ms, kind = tonumber(ARGV[i + 1]), tonumber(ARGV[i + 2]), ARGV[i + 3]
  local w = { field = ARGV[i], ms = ms, unit = 1, length = 0, index = i }
  local value, taken, at = values[w.field], 0, 0
  if value then
    local a, b = match(value, '(%S+) (%S+)')
    taken, at = tonumber(a), tonumber(b)
    w.storedAt = at
  end
  answer[#answer + 1] = value or '0 0'
  if kind == 'continuous' then
    w.unit = ms
    w.length = ms
    taken = max(0, min(taken, quota * ms) - min(max(0, now - at), ms) * quota)
    at = now
  elseif taken == 0 or at <= now then
    taken, at = 0, now + ms
    if kind == 'utc' then at = at - math.fmod(now + ARGV[3], ms) end
  elseif at > now + ms then
    at = now + ms
  end
  if taken + cost * w.unit > quota * w.unit then isOver = true end
  w.taken, w.at = taken, at
  windows[#windows + 1] = w
end

local passes = false
if isTake then
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
  end
  local isBanned = c and c.banEnd > 0
  passes = not isOver and not isBanned
  if cost > 0 and passes and c then
    c.refusedAt, c.strikes, c.strikesEnd = 0, 0, 0
  elseif cost > 0 and not passes and not isBanned and ARGV[9] == '1' then
    if not ban then readBan() end
    if ban then
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

local sets, drops, soonest = {}, {}, 0
local function keep(field, till)
  before = max(before, till)
  if isTake and till <= now then
    drops[#drops + 1] = field
  else
    after = max(after, till)
  end
end
for _, w in ipairs(windows) do
  local isChanged = false
  if isTake then
    isChanged = w.storedAt and w.at < w.storedAt
    if passes and cost > 0 then isChanged, w.taken = true, w.taken + cost * w.unit end
    isChanged = isChanged and w.taken > 0
  elseif mode == 'charge' then
    local more = tonumber(ARGV[w.index + 4])
    if w.taken == 0 and w.length == 0 then w.at = now + min(w.ms, tonumber(ARGV[w.index + 5])) end
    isChanged, w.taken = more > 0, w.taken + more
  elseif mode == 'refund' then
    local resetAt = tonumber(ARGV[w.index + 5])
    isChanged = w.storedAt and resetAt > now and (w.length > 0 or w.storedAt == resetAt)
    if isChanged then w.taken = w.taken - tonumber(ARGV[w.index + 4]) * w.unit end
  end
  if not isChanged then
    if w.storedAt then keep(w.field, w.storedAt + w.length) end
  else
    if w.storedAt then before = max(before, w.storedAt + w.length) end
    if w.taken > 0 then
      sets[#sets + 1] = w.field
      sets[#sets + 1] = format('%.0f %.0f', w.taken, w.at)
      after = max(after, w.at + w.length)
    else
      drops[#drops + 1] = w.field
    end
  end
  values[w.field] = nil
end
for field, value in pairs(values) do
  if field ~= 'conduct' then
    local ms, refill = match(field, '(%d+) (%a+)$')
    local till = tonumber(match(value, '%S+$')) + (refill == 'continuous' and ms or 0)
    keep(field, till)
    if soonest == 0 or till < soonest then soonest = till end
  end
end

if c then
  if c.refusedAt == 0 and c.strikes == 0 and c.banEnd == 0 and c.level == 0 then
    if values.conduct then drops[#drops + 1] = 'conduct' end
  else
    after = max(after, c.banEnd, c.forgetAt)
    local text = printed(c)
    if text ~= values.conduct then
      sets[#sets + 1] = 'conduct'
      sets[#sets + 1] = text
    end
  end
end

if mode ~= 'peek' then
  if #sets > 0 then redis.call('HSET', key, unpack(sets)) end
  if #drops > 0 then redis.call('HDEL', key, unpack(drops)) end
  if isServerTime and after ~= before then redis.call('PEXPIREAT', key, format('%.0f', after)) end
end
answer[#answer + 1] = format('%.0f', soonest)
answer[#answer + 1] = found
return table.concat(answer, ' ')
`;

export const SCRIPT_SHA = createHash('sha1').update(SCRIPT).digest('hex');

/** A write that leaves nothing behind: it fails where the script's would. */
export const PROBE = "redis.call('HSET', KEYS[1], 'probe', '1') return redis.call('HDEL', KEYS[1], 'probe')";

/** The hash as one text, because clients shape the answer of HGETALL in three ways. */
export const INSPECT = "return table.concat(redis.call('HGETALL', KEYS[1]), '|')";
