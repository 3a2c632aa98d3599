import { mkdir, writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { type ScriptedModel } from '../scripted-model.ts'
import { asPlan } from './encodings.ts'
import { makePlace } from './places.ts'
import { judge, type RepairRun, scriptOf } from './repair-run.ts'
import { runCommand } from './run-command.ts'
import { type RepairTask } from './tasks.ts'

/** A task by `aps plan --fix test --yes`: each diff is shown and agreed to, and nobody looks. */
export async function repairWithPlan (task: RepairTask, model: ScriptedModel): Promise<RepairRun> {
  const place = await makePlace(task)
  try {
    await mkdir(join(place.folder, 'store'))
    await writeFile(join(place.folder, 'operator.yaml'), 'workspaces:\n  project: { path: project, checks: { test: node --test } }\n')
    const env = { HOME: place.folder, STORE_DIR: 'store', STATE_DIR: 'state', OPERATOR_FILE: 'operator.yaml', LLM_BASE_URL: model.url, LLM_API_KEY: 'k', LLM_MODEL: 'scripted', ALLOW_ROOT: 'true' }
    const aps = async (words: readonly string[], lines: readonly string[]) => await runCommand(process.execPath, [resolve('dist/cli/aps.js'), 'plan', ...words, '--log', 'plan.log'], { cwd: place.folder, env, lines })
    model.follow(scriptOf(task, asPlan, place, true))
    const begun = performance.now()
    const { output } = await aps(['--fix', 'test', '--workspace', 'project', '--yes'], [])
    const seconds = (performance.now() - begun) / 1000
    const [use, after] = [model.use(), await place.tree()]
    const judged = await judge(task, after, after, place.project)
    if (!judged.isSolved) return { ...judged, use, seconds, output }
    const undo = await aps(['--resume'], ['undo'])
    const { isUndoneByOne } = await judge(task, after, await place.tree(), place.project)
    return { ...judged, isUndoneByOne, use, seconds, output: `${output}${undo.output}` }
  } finally {
    await place.remove()
  }
}
