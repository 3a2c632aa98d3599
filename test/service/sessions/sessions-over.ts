import { type TestContext } from 'node:test'
import { RightsWatch } from '../../../src/access/rights.ts'
import { SessionService } from '../../../src/service/sessions/session-service.ts'
import { type Engines } from '../../../src/session/advance-session.ts'
import { type Performer } from '../../../src/session/effects.ts'
import { SessionRunner } from '../../../src/session/runner.ts'
import { UNSEALED } from '../../../src/session/session-log.ts'
import { type Session } from '../../../src/session/session.ts'
import { type SessionStore } from '../../../src/session/store/session-store.ts'
import { SILENT } from '../../session/runners.ts'
import { SCRIPTED } from '../../session/script-engine.ts'

interface SessionsOver {
  readonly performer: Performer
  /** @default scripted sessions */
  readonly engines?: Engines
  readonly owner?: string
  readonly onEnded?: (session: Session) => void
}

/** A service of sessions in a store, closed after the test. */
export function sessionsOver (t: TestContext, store: SessionStore, { performer, engines = SCRIPTED, owner = '', onEnded }: SessionsOver): SessionService {
  const sessions = new SessionService({
    async open () {
      const runner = new SessionRunner({ store, engines, performer, log: SILENT, onEnded })
      runner.open()
      return { store, engines, seals: UNSEALED, runner }
    },
    isAnyOpen: async () => false,
    storeProblem: () => undefined,
    close: async () => {},
    rights: new RightsWatch(),
    owners: () => [owner]
  })
  t.after(() => sessions.close())
  return sessions
}
