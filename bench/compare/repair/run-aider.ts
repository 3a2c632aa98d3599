import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type ScriptedModel } from '../scripted-model.ts'
import { asBlocks } from './encodings.ts'
import { makePlace } from './places.ts'
import { judge, type RepairRun, scriptOf } from './repair-run.ts'
import { runCommand } from './run-command.ts'
import { type RepairTask } from './tasks.ts'

/** No news, no statistics, no colours; the rest is what Aider does by itself. */
const QUIET = ['--no-check-update', '--no-show-release-notes', '--no-show-model-warnings', '--analytics-disable', '--no-pretty', '--no-fancy-input', '--no-gitignore']

/**
 * A task by `aider --test-cmd … --auto-test --yes-always FILE`: `/test` runs the test and sends the model its failure, which is
 * what `aps plan --fix test` does. The copies are made within the chat, since `/undo` knows the commits of its own chat only.
 */
export async function repairWithAider (task: RepairTask, model: ScriptedModel, aider: string): Promise<RepairRun> {
  const place = await makePlace(task)
  try {
    // Aider fetches the prices of models unless it has some of today: a scripted model has none.
    await mkdir(join(place.folder, '.aider/caches'), { recursive: true })
    await writeFile(join(place.folder, '.aider/caches/model_prices_and_context_window.json'), '{"none":{}}')
    model.follow(scriptOf(task, asBlocks, place, false))
    const words = ['--model', 'openai/scripted', '--edit-format', 'diff', '--test-cmd', 'node --test', '--auto-test', '--yes-always', ...QUIET, task.path]
    const env = { HOME: place.folder, OPENAI_API_BASE: model.url, OPENAI_API_KEY: 'k', LITELLM_LOCAL_MODEL_COST_MAP: 'True' }
    const begun = performance.now()
    const { output } = await runCommand(aider, words, { cwd: place.project, env, lines: ['/test', '/run cp -r . ../after', '/undo'] })
    const after = await place.tree(join(place.folder, 'after'))
    const judged = await judge(task, after, await place.tree(), join(place.folder, 'after'))
    return { ...judged, use: model.use(), seconds: (performance.now() - begun) / 1000, output }
  } finally {
    await place.remove()
  }
}
