// Keeps on appending to a session in a folder until it is killed; prints each acknowledged number. argv: folder, id.
import { createDirectorySessionStore } from '../../../src/session/store/directory-session-store.ts'
import { type LogPosition } from '../../../src/session/model.ts'
import { append } from './session-appends.ts'
import { quietLog } from '../../helpers/quiet-log.ts'

const [, , path = '', id = ''] = process.argv
const store = createDirectorySessionStore({ path, keep: 60_000, log: quietLog() })
for (let top: LogPosition | undefined; ;) {
  top = await append(store, id, top)
  process.stdout.write(`${top.seq}\n`)
}
