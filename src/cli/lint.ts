import { type Command, Option } from 'commander'
import { type Cli } from './context.ts'
import { CliError, EXIT } from './output.ts'
import { type LintFormat, printFindings } from './lint-format.ts'

interface LintOptions { readonly server?: true, readonly trust?: true, readonly format: LintFormat }

export function addLintCommand (program: Command, cli: Cli): void {
  program.command('lint').description('check the files of a folder as the service does; ends with 1 for an error').argument('[folder]', 'the folder', '.')
    .option('--server', 'with what is registered at a service, in place of the folder alone')
    .option('--trust', 'take all of the folder\'s .env, also what runs commands or says where keys are sent')
    .addOption(new Option('--format <format>', 'github: annotations of a workflow').choices(['text', 'json', 'github']).default('text'))
    .action(async (folder: string, { server, trust, format }: LintOptions, command: Command) => {
      const { api, output } = server === true ? cli.open(command) : { api: undefined, output: cli.open(command).output }
      const warnings: string[] = []
      const warn = (message: string): void => { warnings.push(message) }
      const found = api === undefined
        ? await (await import('./lint-here.ts')).lintHere(folder, trust === true, warn, cli)
        : await (await import('./lint-there.ts')).lintThere(folder, api, warn)
      const findings = found.toSorted((one, other) => one.file < other.file ? -1 : one.file > other.file ? 1 : one.line - other.line)
      for (const warning of warnings) await output.words(`warning: ${warning}`)
      await printFindings(findings, format, output)
      const count = (severity: string) => findings.filter(finding => finding.severity === severity).length
      const [errors, others] = [count('error'), count('warning')]
      if (errors > 0) throw new CliError(EXIT.NO, `${errors} ${errors === 1 ? 'error' : 'errors'}, ${others} ${others === 1 ? 'warning' : 'warnings'}`)
      await output.words(others === 0 ? 'no errors' : `no errors, ${others} ${others === 1 ? 'warning' : 'warnings'}`)
    })
}
