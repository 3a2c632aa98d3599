import { type JsonObject } from '../../base/json.ts'
import { normalisePath } from '../../files/path-rules.ts'

/** A read that the service makes on its own before it asks the model, because the user's text names a place in a file or a missing module. */
export interface AutoRequest {
  readonly header: 'AUTO_TRACEBACK' | 'DEPS' | 'ENV'
  /** Alternative requests for one file. Only the result of the first request whose file exists is used. */
  readonly requests: readonly JsonObject[]
}

/** The number of lines that are read before and after a line that a traceback names. */
const AROUND = 80

/** The most places in tracebacks around which the service reads files. Further places mostly repeat them. */
const MAX_PLACES = 8

/** The longest text that is searched for tracebacks, in UTF-16 units. The rest of a longer text is not searched. */
const MAX_TEXT = 200_000

/** The files in which projects list their dependencies. */
const DEPENDENCIES = ['pyproject.toml', 'requirements.txt', 'package.json', 'poetry.lock']

/** The longest part of a dependency file that the service reads, in UTF-16 units. These files can have many short lines, so lines are not counted. */
const MAX_DEPENDENCIES = 8000

/**
 * The place that a line of a traceback names: `File "a.py", line 3` in Python; `(a.ts:3:7)`, `at a.ts:3`, `--> a.rs:3:7` and `a.go:3` elsewhere.
 * A path is matched only from its first character, not once more from a character inside it.
 */
const FRAME = /File "([^"\n]{1,400})", line (\d{1,7})|(?<![\w@./\\~:-])((?:[A-Za-z]:)?[\w@./\\~-]{1,400}\.[A-Za-z]\w{0,7}):(\d{1,7})/g

/** What the service reads when the user's text reports a missing module: the environment, and the files that list dependencies. */
const ENVIRONMENT: readonly AutoRequest[] = [
  { header: 'ENV', requests: [{ type: 'env' }] },
  ...DEPENDENCIES.map((path): AutoRequest => ({ header: 'DEPS', requests: [{ type: 'read_file', path, max_chars: MAX_DEPENDENCIES }] }))
]

/** Paths inside folders of installed packages, whose files are not read. */
const FOREIGN = /(?:^|\/)(?:node_modules|site-packages|dist-packages|lib\/python[\d.]+)(?:\/|$)/

/**
 * Says what the service has to read before it asks the model: the files around the lines that a traceback names; after an error about a
 * missing module, the environment and the files that list dependencies.
 * @param goal the user's words
 * @param report text beside the goal, such as the output of a test
 */
export function autoContext (goal: string, report: string): AutoRequest[] {
  const text = `${goal}\n${report}`.slice(0, MAX_TEXT)
  const places = /traceback|exception|error/i.test(text) ? placesIn(text) : []
  const traced = places.map(({ paths, line }): AutoRequest => ({
    header: 'AUTO_TRACEBACK',
    requests: paths.map(path => ({ type: 'read_file', path, start_line: Math.max(1, line - AROUND), end_line: line + AROUND }))
  }))
  return [...traced, ...(/ImportError|ModuleNotFoundError|cannot find module/i.test(text) ? ENVIRONMENT : [])]
}

/**
 * The places in files that a traceback names, each place once. An absolute path perhaps comes from another machine, so `/a/b/c.py` is tried as
 * `a/b/c.py`, `b/c.py` and `c.py`.
 */
function placesIn (text: string): Array<{ readonly paths: readonly string[], readonly line: number }> {
  const places = new Map<string, { readonly paths: readonly string[], readonly line: number }>()
  for (const [, python, pythonLine, other, otherLine] of text.matchAll(FRAME)) {
    if (places.size === MAX_PLACES) break
    const named = (python ?? other ?? '').replaceAll('\\', '/')
    const line = Number(pythonLine ?? otherLine)
    const paths = line === 0 || FOREIGN.test(named) ? [] : endsOf(named)
    if (paths.length > 0) places.set(`${named}:${line}`, { paths, line })
  }
  return [...places.values()]
}

function endsOf (named: string): string[] {
  const own = normalisePath(named)
  if ('path' in own) return [own.path]
  const segments = named.replace(/^[A-Za-z]:|^~[^/]*/, '').split('/').filter(segment => segment !== '')
  const ends = segments.map((_, index) => segments.slice(index).join('/')).slice(-MAX_ENDS)
  return ends.flatMap(end => {
    const normalised = normalisePath(end)
    return 'path' in normalised ? [normalised.path] : []
  })
}

/** The most relative paths that are tried for one absolute path: the shortest endings of it. */
const MAX_ENDS = 6
