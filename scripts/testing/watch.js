import { watch } from 'node:fs'
import { join } from 'node:path'

const FOLDERS = ['src', 'console', 'test', 'jsonschema', 'scripts', 'docs', 'examples']

/** An editor saves in several steps, and a checkout many files: this long after the last one, in ms. */
const QUIET = 100

/**
 * Waits for saves for ever.
 * @param {(paths: string[]) => void} run is given what was saved, and called anew only when it is through
 */
export function watchSaves (run) {
  const saved = new Set()
  let timer
  for (const folder of FOLDERS) {
    watch(folder, { recursive: true }, (_event, name) => {
      if (name === null) return
      saved.add(join(folder, name).replaceAll('\\', '/'))
      clearTimeout(timer)
      timer = setTimeout(() => {
        const paths = [...saved].sort()
        saved.clear()
        console.log(`\nsaved: ${paths.join(', ')}`)
        run(paths)
      }, QUIET)
    })
  }
  console.log(`watching ${FOLDERS.join(', ')} ...`)
}
