import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { describe, it } from 'node:test'
import { type JsonObject } from '../../src/base/json.ts'
import { ENGINES } from '../../src/engine/engines.ts'
import { foldLogEntry } from '../../src/session/advance-session.ts'
import { type LogEntry } from '../../src/session/model.ts'
import { type Session } from '../../src/session/session.ts'

/** A log as an earlier version wrote it, and the session that this version computed from it. */
interface Recorded {
  readonly log: readonly LogEntry[]
  readonly session: JsonObject
}

describe('a log that an earlier version wrote', () => {
  for (const name of ['agent', 'loop', 'skill', 'skill-calls', 'plan']) {
    const { log, session } = JSON.parse(readFileSync(`test/fixtures/session-logs/${name}.json`, 'utf8')) as Recorded

    it(`of the engine ${name} gives the same session, with the whole state`, () => {
      assert.deepEqual(plain(fold(log)), session)
    })
  }
})

/** @throws EngineDiverged where the engine asks for other effects than those of the log */
function fold (log: readonly LogEntry[]): Session {
  const folded = log.reduce<Session | undefined>((session, transition) => foldLogEntry('s1', session, transition, ENGINES), undefined)
  assert.ok(folded !== undefined)
  return folded
}

/** A session as JSON has it, so that a member without a value counts as none; without what is read out of a log since then. */
function plain ({ engine, open, used, asked, doubtful, start: _start, title: _title, problem: _problem, turn: _turn, ...rest }: Session): JsonObject {
  const session = { ...rest, ...(doubtful.size === 0 ? {} : { doubtful: [...doubtful] }), open: [...open], used: { ...used, calls: [...used.calls] }, asked: [...asked], state: engine.state, view: engine.view }
  return JSON.parse(JSON.stringify(session)) as JsonObject
}
