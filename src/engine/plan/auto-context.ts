import { type JsonObject } from '../../base/json.ts'
import { normalisePath } from '../../files/path-rules.ts'

/** Something that is read before the model is asked, because of what the user has said. */
export interface AutoRequest {
  readonly header: 'AUTO_TRACEBACK' | 'DEPS' | 'ENV'
  /** Of these the first that exists is meant. */
  readonly requests: readonly JsonObject[]
}

/** Lines before and after one of a traceback. */
const AROUND = 80

/** Places of tracebacks; those beyond are mostly the same again. */
const MAX_PLACES = 8

/** A traceback may be long, and only its frames count; in UTF-16 units. */
const MAX_TEXT = 200_000

/** Where a project says what it needs. */
const DEPENDENCIES = ['pyproject.toml', 'requirements.txt', 'package.json', 'poetry.lock']

/** Of each of these so much is read, in UTF-16 units: their lines may be many, and short. */
const MAX_DEPENDENCIES = 8000

/** `File "a.py", line 3` of Python; `(a.ts:3:7)`, `at a.ts:3`, `--> a.rs:3:7` and `a.go:3` of others. A path begins where a word does, so that each is looked at once. */
const FRAME = /File "([^"\n]{1,400})", line (\d{1,7})|(?<![\w@./\\~:-])((?:[A-Za-z]:)?[\w@./\\~-]{1,400}\.[A-Za-z]\w{0,7}):(\d{1,7})/g

/** Folders of what others wrote. */
const FOREIGN = /(?:^|\/)(?:node_modules|site-packages|dist-packages|lib\/python[\d.]+)(?:\/|$)/

/** What a goal and a report speak of: files of tracebacks around their lines, and what a missing module may be missing in. */
export function autoContext (goal: string, report: string): AutoRequest[] {
  const text = `${goal}\n${report}`.slice(0, MAX_TEXT)
  const places = /traceback|exception|error/i.test(text) ? placesIn(text) : []
  const traced = places.map(({ paths, line }): AutoRequest => ({
    header: 'AUTO_TRACEBACK',
    requests: paths.map(path => ({ type: 'read_file', path, start_line: Math.max(1, line - AROUND), end_line: line + AROUND }))
  }))
  const needed = /ImportError|ModuleNotFoundError|cannot find module/i.test(text)
    ? [{ header: 'ENV' as const, requests: [{ type: 'env' }] }, ...DEPENDENCIES.map(path => ({ header: 'DEPS' as const, requests: [{ type: 'read_file', path, max_chars: MAX_DEPENDENCIES }] }))]
    : []
  return [...traced, ...needed]
}

/** Each place of the frames once; a path of another machine as each of its ends, the longest first. */
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

/** Of an absolute path so many ends are looked for. */
const MAX_ENDS = 6
