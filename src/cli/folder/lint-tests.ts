import { readFile } from 'node:fs/promises'
import { extname, join } from 'node:path'
import { parseJson } from '../../base/json.ts'
import { RejectedEntry } from '../../registry/diagnostic/diagnostic.ts'
import { placed } from '../../registry/diagnostic/diagnostic-table.ts'
import { parseTests } from '../../registry/kinds/tests/test-cases.ts'
import { storedText } from '../entries/entry-text.ts'
import { type Finding } from './lint-format.ts'
import { type LocalEntry } from './read-folder.ts'
import { createPlaceFinder } from './text-places.ts'

/** Checks a file of tests of a prompt. That takes no service. @param folder as the user wrote it */
export async function lintTests ({ file, entry }: LocalEntry, root: string, folder: string): Promise<Finding[]> {
  try {
    parseTests(parseJson(storedText(entry)))
    return []
  } catch (error) {
    if (!(error instanceof RejectedEntry)) throw error
    const find = createPlaceFinder(['.json', '.yaml', '.yml'].includes(extname(file)) ? await readFile(join(root, file), 'utf8') : '')
    return error.diagnostics.map(diagnostic => {
      const { severity, code, message, hint } = placed(diagnostic)
      return { file: join(folder, file), ...find(diagnostic), severity, code, message, hint }
    })
  }
}
