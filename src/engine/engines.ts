import { startOf } from '../session/engine.ts'
import { type Engines } from '../session/advance-session.ts'
import { agentEngine } from './agent-engine.ts'
import { loopEngine } from './loop-engine.ts'
import { planEngine } from './plan/plan-engine.ts'
import { releaseEngine } from './release-engine.ts'
import { skillEngine } from './skill/skill-engine.ts'
import { terminalEngine } from './terminal-engine.ts'

/** By name with version. The version before stays for as long as sessions of it may be open. */
export const ENGINES: Engines = new Map([
  [agentEngine.name, startOf(agentEngine)],
  [loopEngine.name, startOf(loopEngine)],
  [skillEngine.name, startOf(skillEngine)],
  [planEngine.name, startOf(planEngine)],
  [terminalEngine.name, startOf(terminalEngine)],
  [releaseEngine.name, startOf(releaseEngine)]
])
