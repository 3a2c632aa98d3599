import { existsSync } from 'node:fs'
import { type Command, Option } from 'commander'
import { type Cli } from './context.ts'
import { CliError, EXIT, usageError } from './output.ts'
import { type TestFormat } from './test-reports.ts'
import { type Suite } from './test-suites.ts'

interface TestOptions { readonly server?: true, readonly trust?: true, readonly label?: string, readonly format: TestFormat }

export function addTestCommand (program: Command, cli: Cli): void {
  program.command('test').description('run the tests of prompts; ends with 1 when one fails')
    .argument('[what...]', 'a folder, whose tests are run on its prompts; or ids of prompts, such as review.short@9, whose tests a service has (default: ".")')
    .option('--server', 'test the prompts of a service: with the tests of a folder, or without one all that it has')
    .option('--label <label>', 'the version that a label means')
    .option('--trust', 'take all of the folder\'s .env, also what runs commands or says where keys are sent')
    .addOption(new Option('--format <format>', 'junit: XML for build servers; github: annotations of a workflow')
      .choices(['text', 'json', 'junit', 'github'])
      .default('text'))
    .action(async (what: readonly string[], options: TestOptions, command: Command) => { await test(what, options, command, cli) })
}

async function test (what: readonly string[], { server, label, trust, format: wanted }: TestOptions, command: Command, cli: Cli): Promise<void> {
  const opened = cli.open(command)
  const { output } = opened
  const format = output.wantsJson ? 'json' : wanted
  const folders = what.filter(each => existsSync(each))
  const folder = folders[0] ?? (what.length === 0 && server !== true ? '.' : undefined)
  if (folders.length > 1 || (folders.length > 0 && what.length > 1)) throw usageError('expected one folder, or ids of prompts')

  const { suitesOf, storedSuites } = await import('./test-suites.ts')
  const warnings: string[] = []
  const warn = (message: string): void => { warnings.push(message) }
  const suites = folder === undefined ? await storedSuites(what, opened.api) : await suitesOf(folder, warn)
  const bench = folder === undefined || server === true
    ? { run: (await import('./test-there.ts')).testThere(opened.api, label), close: async () => {} }
    : await (await import('./test-here.ts')).testHere(folder, { label }, trust === true, warn, cli)
  try {
    for (const warning of warnings) await output.words(`warning: ${warning}`)
    await report(suites, bench.run)
  } finally {
    await bench.close()
  }

  async function report (tested: readonly Suite[], run: Awaited<typeof bench>['run']): Promise<void> {
    const { runSuites } = await import('./test-suites.ts')
    const { printReport, printReports } = await import('./test-reports.ts')
    const reports = await runSuites(tested, run, each => printReport(each, format, output))
    await printReports(reports, format, output)
    if (reports.length === 0) throw new CliError(EXIT.NO, 'there is no test')
    const failed = reports.filter(({ pass }) => !pass).length
    const words = `${reports.length - failed} passed, ${failed} failed`
    if (failed > 0) throw new CliError(EXIT.NO, words)
    await output.words(words)
  }
}
