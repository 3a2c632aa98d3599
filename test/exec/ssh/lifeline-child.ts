// Runs a command over SSH until it is killed. argv: the target as JSON, and the command.
import { type SshTarget } from '../../../src/config/operator.ts'
import { SshExecutor } from '../../../src/exec/ssh-executor.ts'

const [target, command] = process.argv.slice(2) as [string, string]
const executor = new SshExecutor(JSON.parse(target) as SshTarget, undefined)
await executor.run(command, { timeout: 600_000, signal: new AbortController().signal, onOutput: (_stream, text) => { process.stdout.write(text) } })
