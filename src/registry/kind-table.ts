import { type KeyKind } from '../store/store.ts'
import { type Kind } from './kinds/entry-kind.ts'
import { agentKind } from './kinds/agent-kind.ts'
import { environKind } from './kinds/environ-kind.ts'
import { extensionKind } from './kinds/extension-kind.ts'
import { planKind } from './kinds/plan-kind.ts'
import { promptKind } from './kinds/prompt-kind.ts'
import { releaseKind, TESTS, VERSIONS } from './kinds/release-kind.ts'
import { skillKind } from './kinds/skill-kind.ts'
import { toolKind } from './kinds/tool-kind.ts'

/** Only the code that puts the service together reads this table; other code is given the kinds that it needs. */
export const KINDS: readonly Kind[] = [extensionKind, promptKind, environKind, toolKind, agentKind, skillKind, planKind, releaseKind]

/** Left out of a listing of the whole store, and read when a request, a label or a prompt names them. */
export const ON_DEMAND: readonly KeyKind[] = [{ key: VERSIONS, onDemand: true }, { key: TESTS, onDemand: true }]
