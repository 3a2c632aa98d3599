// Runs a command until it is killed. argv: the workspace, `off` or `required` for the sandbox, and the command.
import { environmentOf, LocalExecutor } from '../../src/exec/local-executor.ts'

const [workspace, sandbox, command] = process.argv.slice(2) as [string, 'off' | 'required', string]
const executor = new LocalExecutor({ workspace, sandbox, hasNetwork: false, environment: environmentOf(process.env, []), secrets: [], mayRunAsRoot: true })
await executor.run(command, { timeout: 600_000, signal: new AbortController().signal, onOutput: (_stream, text) => { process.stdout.write(text) } })
