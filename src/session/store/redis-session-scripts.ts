/** Lua scripts that change or read the sessions of one shard atomically. They use Redis' own clock, because the clocks of replicas differ. */

const NOW = `
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)`

/**
 * When any replica can take a session, `false` for never. `turns` has the same sessions by what takes turns, the sessions of one owner with one
 * engine, and by their time: `turn` is `<owner>\0<engine>\0`, as before where left out, and its members end in 15 digits and the id.
 */
const SET_DUE = `
local function setDue (due, turns, head, id, at, turn)
  local before, was = redis.call('ZSCORE', due, id), redis.call('HMGET', head, 'turn')[1]
  if before and was then redis.call('ZREM', turns, was .. string.format('%015d', before) .. id) end
  if not at then return redis.call('ZREM', due, id) end
  turn = turn or was
  redis.call('ZADD', due, at, id)
  if not turn then return end
  redis.call('HSET', head, 'turn', turn)
  redis.call('ZADD', turns, 0, turn .. string.format('%015d', at) .. id)
end`

/**
 * The Lua script that appends one log entry to a session's log, and updates head, sets and due time. Plain XADD is not enough: it accepts a
 * gap after lost entries, and treats a retry as a conflict. The script calls XADD before its other writes, so when Redis is full or
 * read-only, the call of XADD fails and nothing is changed.
 * `KEYS`: log, head, due, all, of, ended, open, turns, asking. `ARGV`: number and token of the previous log entry (0 and '' for none), number and
 * token of the new one, the log entry, the head, the driver, due in ms or 'never' or 'keep', when the session was begun, how many ms the session is
 * kept if it has ended or else '', the id, the owner (for a child, `belowName` of its root), the channel, the seal, 'sharded' to publish to the nodes
 * of the shard alone, where Redis and its ACL let it (since 7.0), else '', the turn, what `asking` has of the session, and whether an approval
 * waits, else ''.
 * Returns 'ok', 'again' (this append was made before), or number and token of the log's last log entry.
 */
export const APPEND = `
local last = redis.call('XREVRANGE', KEYS[1], '+', '-', 'COUNT', 1)[1]
local top, topToken = '0', ''
if last then top, topToken = string.match(last[1], '^%d+'), last[2][2] end
local id, member = ARGV[11], ARGV[11] .. ARGV[12]
if top ~= ARGV[1] or topToken ~= ARGV[2] then
  local own = redis.call('XRANGE', KEYS[1], ARGV[3] .. '-0', ARGV[3] .. '-0')[1]
  if own and own[2][2] == ARGV[4] then return 'again' end
  return { top, topToken }
end
${NOW}
${SET_DUE}
redis.call('XADD', KEYS[1], ARGV[3] .. '-0', 'token', ARGV[4], 'transition', ARGV[5], 'seal', ARGV[14])
redis.call('HSET', KEYS[2], 'head', ARGV[6], 'seq', ARGV[3])
local due = false
if ARGV[8] == 'never' then
  redis.call('HDEL', KEYS[2], 'driver')
elseif ARGV[8] == 'keep' then
  due = redis.call('ZSCORE', KEYS[3], id)
else
  redis.call('HSET', KEYS[2], 'driver', ARGV[7])
  due = now + ARGV[8]
end
setDue(KEYS[3], KEYS[8], KEYS[2], id, due, ARGV[16])
if ARGV[18] == '' then redis.call('ZREM', KEYS[9], ARGV[17]) else redis.call('ZADD', KEYS[9], ARGV[9], ARGV[17]) end
if top == '0' then
  redis.call('ZADD', KEYS[4], ARGV[9], id)
  redis.call('ZADD', KEYS[5], ARGV[9], id)
  redis.call('ZADD', KEYS[7], ARGV[9], id)
end
if ARGV[10] ~= '' then
  redis.call('PEXPIRE', KEYS[1], ARGV[10])
  redis.call('PEXPIRE', KEYS[2], ARGV[10])
  redis.call('ZADD', KEYS[6], now + ARGV[10], member)
  redis.call('ZREM', KEYS[7], id)
elseif redis.call('ZREM', KEYS[6], member) == 1 then
  redis.call('PERSIST', KEYS[1])
  redis.call('PERSIST', KEYS[2])
  redis.call('ZADD', KEYS[7], ARGV[9], id)
end
if ARGV[15] == '' or type(redis.pcall('SPUBLISH', ARGV[13], ARGV[3])) == 'table' then redis.call('PUBLISH', ARGV[13], ARGV[3]) end
return 'ok'`

/**
 * The Lua script that gives due sessions (nobody drives them, or they have waited too long) to a replica: one of each turn after the other, of each
 * the one that has been due for longest. It looks at turns, not at all that is due: a backlog of one owner makes no call slow. It also removes from
 * the sets the ids of sessions that Redis has deleted: at most 100 per call, so that no call takes long.
 * `KEYS`: due, all, ended, turns. `ARGV`: the replica's id, the most sessions, the replica's lease in ms, the shard's prefix, how many sessions of
 * other engines are named, the turn behind which to begin, how many engines the replica has (0 for all), these, and the owners that are passed over.
 * Returns the ids, in how many ms the next session is due that it could be given, -1 for never, id, engine and ms since it was due of each session of
 * another engine, and the last turn.
 */
export const TAKE = `
${NOW}
${SET_DUE}
for _, member in ipairs(redis.call('ZRANGEBYSCORE', KEYS[3], '-inf', now, 'LIMIT', 0, 100)) do
  local id = string.sub(member, 1, 32)
  -- PTTL gives -2: the session has expired; -1: one of the same id began since; else it expires within this ms, and waits for the next call.
  local left = redis.call('PTTL', ARGV[4] .. id .. ':head')
  if left == -2 then
    redis.call('ZREM', KEYS[1], id)
    redis.call('ZREM', KEYS[2], id)
    redis.call('ZREM', ARGV[4] .. 'of:' .. string.sub(member, 33), id)
  end
  if left < 0 then redis.call('ZREM', KEYS[3], member) end
end
local limit, last, engines, passed = tonumber(ARGV[2]), ARGV[6], { [''] = true }, {}
for index = 8, #ARGV do (index < 8 + ARGV[7] and engines or passed)[ARGV[index]] = true end
local due, indexed, left, turns, ids, unknown = redis.call('ZCOUNT', KEYS[1], '-inf', now), 0, 0, {}, {}, {}
local function look (from, to)
  local member = redis.call('ZRANGEBYLEX', KEYS[4], from, to, 'LIMIT', 0, 1)[1]
  if not member then return end
  local turn = string.sub(member, 1, -48)
  local most = '(' .. turn .. string.format('%015d', now + 1)
  local owner, engine = string.match(turn, '^(.*)%z(.*)%z$')
  local count = redis.call('ZLEXCOUNT', KEYS[4], '[' .. turn, most)
  indexed = indexed + count
  if ARGV[7] ~= '0' and not engines[engine] then
    for _, other in ipairs(redis.call('ZRANGEBYLEX', KEYS[4], '[' .. turn, most, 'LIMIT', 0, ARGV[5] - #unknown)) do
      unknown[#unknown + 1] = { string.sub(other, -32), engine, now - tonumber(string.sub(other, -47, -33)) }
    end
  elseif count > 0 and not passed[owner] then
    left = left + count
    turns[#turns + 1] = { turn, most }
  end
  return look('(' .. turn .. '\\255', to)
end
if due > 0 then
  look('(' .. last .. '\\255', '+')
  look('-', '[' .. last .. '\\255')
end
repeat
  local before = left
  for _, turn in ipairs(turns) do
    local member = #ids < limit and redis.call('ZRANGEBYLEX', KEYS[4], '[' .. turn[1], turn[2], 'LIMIT', 0, 1)[1]
    if member then
      local id, at = string.sub(member, -32), string.sub(member, -47, -33)
      local head, known = ARGV[4] .. id .. ':head', redis.call('ZSCORE', KEYS[1], id)
      left = left - 1
      if redis.call('EXISTS', head) == 0 then known = false end
      if known and tonumber(known) == tonumber(at) then
        redis.call('HSET', head, 'driver', ARGV[1])
        setDue(KEYS[1], KEYS[4], head, id, now + ARGV[3])
        ids[#ids + 1] = id
        last = turn[1]
      else
        -- A process of an earlier version has written since, or Redis has deleted the session.
        redis.call('ZREM', KEYS[4], member)
        setDue(KEYS[1], KEYS[4], head, id, known)
      end
    end
  end
until left == before
if due > indexed then
  -- Written by an earlier version: taken by the next call.
  local all = redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', now, 'WITHSCORES', 'LIMIT', 0, 1000)
  for index = 1, #all, 2 do
    local id, at = all[index], all[index + 1]
    local head = ARGV[4] .. id .. ':head'
    local kept = redis.call('HMGET', head, 'head', 'turn')
    local isRead, parsed = pcall(cjson.decode, kept[1] or '')
    local of = isRead and type(parsed) == 'table' and parsed or {}
    local owner = tostring(of.owner or '')
    local turn = kept[2] or owner .. '\\0' .. tostring(of.engine or '') .. '\\0'
    if not kept[1] then
      redis.call('ZREM', KEYS[1], id)
    elseif not redis.call('ZSCORE', KEYS[4], turn .. string.format('%015d', at) .. id) then
      setDue(KEYS[1], KEYS[4], head, id, at, turn)
      if not passed[owner] then left = left + 1 end
    end
  end
end
local first = redis.call('ZRANGEBYSCORE', KEYS[1], '(' .. now, '+inf', 'WITHSCORES', 'LIMIT', 0, 1)
return { ids, left > 0 and 0 or first[2] and first[2] - now or -1, unknown, last }`

/** Lets any replica take a session that is open. `KEYS`: due, head, turns. `ARGV`: id. Returns 1, or 0 for one that is not there or has ended. */
export const REDRIVE = `
${NOW}
${SET_DUE}
if not redis.call('ZSCORE', KEYS[1], ARGV[1]) then return 0 end
redis.call('HSET', KEYS[2], 'driver', '')
setDue(KEYS[1], KEYS[3], KEYS[2], ARGV[1], now)
return 1`

/**
 * `KEYS`: due, turns. `ARGV`: replica, lease in ms, prefix, ids. Returns for each session that exists its id, last number, and 1 if the replica still
 * drives it.
 */
export const RENEW = `
${NOW}
${SET_DUE}
local renewed = {}
for index = 4, #ARGV do
  local id = ARGV[index]
  local head = ARGV[3] .. id .. ':head'
  local kept = redis.call('HMGET', head, 'seq', 'driver')
  if kept[1] then
    local isYours = kept[2] == ARGV[1] and 1 or 0
    if isYours == 1 then setDue(KEYS[1], KEYS[2], head, id, now + ARGV[2]) end
    renewed[#renewed + 1] = { id, tonumber(kept[1]), isYours }
  end
end
return renewed`

/**
 * The Lua script that counts open sessions, one page of them per call, so that no call takes long. `KEYS`: due. `ARGV`: prefix, how many come before
 * the page, and how many are in it. Returns kind, status and count of each group of the page, when the approval of the page was asked for that waits
 * longest (-1 for none), and of the whole shard how many are open, how many are due, and for how many ms the first has been.
 */
export const TALLY = `
${NOW}
local groups, asked = {}, -1
for _, id in ipairs(redis.call('ZRANGE', KEYS[1], ARGV[2], ARGV[2] + ARGV[3] - 1)) do
  local kept = redis.call('HGET', ARGV[1] .. id .. ':head', 'head')
  local isRead, head = pcall(cjson.decode, kept or '')
  if isRead and type(head) == 'table' then
    local group = string.match(tostring(head.definition), '^[^/]*') .. ' ' .. tostring(head.status)
    groups[group] = (groups[group] or 0) + 1
    local since = tonumber(head.askedAt or head.updatedAt)
    if head.isAsking == true and since and (asked < 0 or since < asked) then asked = since end
  end
end
local counted = {}
for group, count in pairs(groups) do
  local kind, status = string.match(group, '^(.*) (.*)$')
  counted[#counted + 1] = { kind, status, count }
end
local due = redis.call('ZCOUNT', KEYS[1], '-inf', now)
local first = redis.call('ZRANGE', KEYS[1], 0, 0, 'WITHSCORES')[2]
return { counted, asked, redis.call('ZCARD', KEYS[1]), due, due > 0 and now - first or 0 }`

/**
 * The Lua script that gives the sessions in which an approval waits: id, owner, a zero byte and definition, and when it was begun. Makes
 * the set anew of all open sessions once `known` has expired, since an earlier version of the service writes sessions without it.
 * `KEYS`: due, asking, known. `ARGV`: prefix, and after how many ms `known` expires.
 */
export const ASKING = `
if redis.call('EXISTS', KEYS[3]) == 0 then
  redis.call('ZREMRANGEBYRANK', KEYS[2], 0, -1)
  for _, id in ipairs(redis.call('ZRANGE', KEYS[1], 0, -1)) do
    local isRead, head = pcall(cjson.decode, redis.call('HGET', ARGV[1] .. id .. ':head', 'head') or '')
    if isRead and type(head) == 'table' and head.isAsking == true then
      redis.call('ZADD', KEYS[2], tonumber(head.createdAt) or 0, id .. tostring(head.owner) .. '\\0' .. tostring(head.definition))
    end
  end
  redis.call('HSET', KEYS[3], 'by', 'a look')
  redis.call('PEXPIRE', KEYS[3], ARGV[2])
end
return redis.call('ZRANGE', KEYS[2], 0, -1, 'WITHSCORES')`

/** Lists a sorted set, the newest first. A session that Redis has deleted has no head. `ARGV`: begin ('' for the first page), id, least number, prefix. */
export const LIST = `
local count, offset, found = tonumber(ARGV[3]), 0, {}
if ARGV[1] ~= '' then offset = redis.call('ZCOUNT', KEYS[1], '(' .. ARGV[1], '+inf') end
repeat
  local members = redis.call('ZREVRANGE', KEYS[1], offset, offset + count - 1, 'WITHSCORES')
  for index = 1, #members, 2 do
    local id, score = members[index], members[index + 1]
    if score ~= ARGV[1] or id < ARGV[2] then
      local kept = redis.call('HMGET', ARGV[4] .. id .. ':head', 'head', 'driver')
      found[#found + 1] = { id, score, kept[1], kept[2] }
    end
  end
  offset = offset + count
until #found >= count or #members < 2 * count
return found`
