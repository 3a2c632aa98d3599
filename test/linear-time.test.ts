import assert from 'node:assert/strict'
import { describe } from 'node:test'
import fc from 'fast-check'
import { parseJson } from '../src/base/json.ts'
import { placesInJson } from '../src/base/json-places.ts'
import { createRedactor, maskSecrets } from '../src/base/redact.ts'
import { inOneLine, revealHidden } from '../src/base/text.ts'
import { parseClassification, parseLeniently } from '../src/engine/agent-engine.ts'
import { autoContext } from '../src/engine/plan/messages.ts'
import { commitMessage } from '../src/engine/plan/undo.ts'
import { parsePlan } from '../src/engine/plan/parse-plan.ts'
import { routeMode } from '../src/engine/plan/plan-setting.ts'
import { renderText } from '../src/engine/reducer.ts'
import { cleanOutputForAI } from '../src/engine/clip.ts'
import { verdictOf } from '../src/engine/skill/skill-state.ts'
import { parseSkillResponse } from '../src/engine/skill/parse-skill-response.ts'
import { isConsent } from '../src/engine/texts.ts'
import { readReport } from '../src/exec/scripts.ts'
import { MarkedOutput } from '../src/exec/ssh-executor.ts'
import { Marks } from '../src/exec/terminal/terminal.ts'
import { ShellCommand } from '../src/exec/terminal/typed-commands.ts'
import { ShellState } from '../src/exec/terminal/terminal-state.ts'
import { applyEdits } from '../src/files/change/edits.ts'
import { globOf } from '../src/files/glob.ts'
import { isForbidden, isProtected, normalisePath } from '../src/files/path-rules.ts'
import { promptMessages } from '../src/http/mcp-handler.ts'
import { EventScanner } from '../src/runtime/server-sent-events.ts'
import { nearMatches } from '../src/base/near-matches.ts'
import { readSkillText } from '../src/registry/kinds/skill-definition.ts'
import { judgeCommand } from '../src/session/command-rules.ts'
import { schemaFromPico } from '../src/store/dotprompt-head.ts'
import { readDotprompt } from '../src/store/read-dotprompt.ts'
import { yamlToJson } from '../src/store/decode-value.ts'
import { goLanguage } from '../src/template/go/go-language.ts'
import { handlebarsLanguage } from '../src/template/handlebars/handlebars-language.ts'
import { type Language } from '../src/template/language.ts'
import { detectSyntax, findMisread } from '../src/template/detect-syntax.ts'
import { prescan } from '../src/template/prescan.ts'
import { compileSchema } from '../src/schema/compile.ts'
import { AnswerReader, withoutThoughts } from '../src/llm/answer.ts'
import { parseArguments, strictMessages } from '../src/llm/history.ts'
import { jsonIn } from '../src/llm/json-in.ts'
import { property } from './helpers/property.ts'

/** The length of the longest text, in UTF-16 units; of a template, whose text is bounded; and of YAML, whose parts are. */
const [LONG, TEMPLATE, YAML] = [512 * 1024, 60_000, 20_000]

/** How many times as long a text takes that is eight times as long, at most: in linear time it is eight, in quadratic time 64. */
const MOST = 12

/** What takes less than this, in ms, is not judged: with a loop in a loop, the longest text would take many seconds. */
const FAST = 250

/** A text of somebody's, and what the service does first with it. */
type Reader = readonly [whose: string, read: (text: string) => unknown, most?: number]

const whole = (text: string): string => `${text.slice(0, 19_000)}x`
const inPieces = (text: string, take: (piece: string) => void): void => { for (let at = 0; at < text.length; at += 8192) take(text.slice(at, at + 8192)) }
const FORMATS = ['date-time', 'duration', 'email', 'hostname', 'iri', 'ipv6', 'json-pointer', 'regex', 'uri', 'uri-reference', 'uri-template', 'url', 'uuid']
const formatted = FORMATS.map(format => compileSchema({ type: 'string', format }))
const patterned = ['(a+)+x', '^\\s*a*\\s*$', '(\\{|"|\\s)*x$'].map(pattern => compileSchema({ type: 'string', pattern }))
const whitelist = { allowed_extensions: ['.md'], allowed_no_extension: [], forbidden_paths: [`${'*a'.repeat(20)}*b`, '*.pem'], forbidden_prefixes: ['..'] }

const READERS: readonly Reader[] = [
  ['a caller\'s body', parseJson],
  ['a caller\'s body with a text that does not end', text => parseJson(`{"a":"${text}`)],
  ['a caller\'s body, in which places are looked for', text => placesInJson(`{"a":[${JSON.stringify(text)}],"b":1}`, [['a', 1, 'c'], ['b']])],
  ['a caller\'s id that is not known', text => nearMatches(text, [`${text}a`, `a${text}`, 'team.greet'])],
  ['a caller\'s value, with a format', text => formatted.map(({ validate }) => validate(text))],
  ['a caller\'s value, with a pattern', text => patterned.map(({ validate }) => validate(text)), TEMPLATE],
  ['a user\'s word of consent', isConsent],
  ['a user\'s words to a plan', text => routeMode(text, true)],
  ['a user\'s words to a plan, after a word', text => routeMode(`plan ${text}`, true)],
  ['a user\'s verdict', text => verdictOf(text, 'isBusy')],
  ['a user\'s message to an agent, as its texts use it', text => renderText('{{message}} {{#if message}}x{{/if}}', { message: text })],
  ['a user\'s traceback', text => autoContext(text, `error ${text}`)],
  ['a user\'s keys', text => {
    const shell = new ShellState(() => {})
    shell.keys(text)
    shell.mark({ number: 1, status: 0 })
    shell.shown()
    shell.output(text)
    shell.close()
  }],
  ['a picture\'s address', text => promptMessages({ role: 'user', content: [{ type: 'image_url', image_url: { url: `data:${text}` } }] } as never)],
  ['a model\'s plan', text => parsePlan(text, 2)],
  ['a model\'s plan in a fence', text => parsePlan(`\`\`\`json\n${text}`, 1)],
  ['a model\'s answer to a skill', parseSkillResponse],
  ['a model\'s command in a fence', text => parseSkillResponse(`[CMD] \`\`\`sh\n${text}`)],
  ['a model\'s yes or no', text => [parseClassification(text), parseLeniently(text)]],
  ['a model\'s arguments', parseArguments],
  ['JSON in a model\'s answer', text => jsonIn(text)],
  ['JSON in a model\'s answer, behind prose and a fence', text => jsonIn(`Here:\n\`\`\`json\n${text}`)],
  ['a model\'s thoughts', text => [withoutThoughts(text), withoutThoughts(`<think>${text}`)]],
  ['a model\'s answer in many chunks', text => {
    const reader = new AnswerReader()
    for (let at = 0; at < text.length; at += 64) reader.add({ choices: [{ index: 0, delta: { content: text.slice(at, at + 64) } }] })
    return reader.answer()
  }],
  ['a model\'s call in many chunks', text => {
    const reader = new AnswerReader()
    for (let at = 0; at < text.length; at += 64) reader.add({ choices: [{ index: 0, delta: { tool_calls: [{ index: 0, id: 'a', function: { name: 'f', arguments: text.slice(at, at + 64) } }] } }] })
    return strictMessages([{ role: 'assistant', content: text }, { role: 'assistant', tool_calls: reader.answer().calls.map(({ id, name, arguments: values }) => ({ id, type: 'function', function: { name, arguments: values } })) }])
  }],
  ['a model\'s stream', text => Array.from(new EventScanner(2 * LONG, event => event.data?.length).feed(Buffer.from(`data: ${text}\n\n`)))],
  ['a model\'s glob', text => globOf(text.slice(0, 200))?.(text)],
  ['a model\'s glob of stars', text => globOf(`**/*${'a*'.repeat(60)}b`)?.(text)],
  ['a model\'s path', text => [normalisePath(text), isProtected(text), isForbidden(text, whitelist)]],
  ['a model\'s command, which is judged', text => judgeCommand({ id: '1', kind: 'exec', target: 'a', command: text, origin: 'model', timeout: 0 }, { isAuto: false, rules: [{ effect: 'deny', command: '*a*b* *c' }] })],
  ['a model\'s edit of the same', text => applyEdits(`${text}x`, [{ search: text.slice(0, 20_000), replace: '' }], 'a')],
  ['a model\'s edit of nearly the same', text => applyEdits(text, [{ search: whole(text), replace: '' }], 'a')],
  ['a model\'s message of a commit', commitMessage],
  ['a text with secrets', createRedactor(['sk-aaaaaaaa', '\\\\"\\', '    '])],
  ['a text of a trace', maskSecrets],
  ['a text that a person sees', text => [revealHidden(text), inOneLine(text)]],
  ['the output of a command', text => cleanOutputForAI(text, 'ls')],
  ['the output of a command over ssh', text => {
    const output = new MarkedOutput('mark', () => {})
    inPieces(`mark begin 1\n${text}mark end /${text}`, piece => { output.append(Buffer.from(piece)) })
    output.finish()
  }],
  ['the report of a shell', readReport],
  ['the output of a terminal', text => { const marks = new Marks('s'); inPieces(text, piece => marks.read(piece)) }],
  ['the output of a terminal, of a command', text => {
    const command = new ShellCommand('ls', 'id', '/', { timeout: 1000, signal: AbortSignal.abort() })
    inPieces(text, piece => { command.output(piece) })
  }],
  ['a repository\'s SKILL.md', readSkillText],
  ['a repository\'s SKILL.md, its front matter', text => readSkillText(`---\n${text}\n---\n`), YAML],
  ['a publisher\'s YAML', yamlToJson, YAML],
  ['a publisher\'s YAML, a value', text => [yamlToJson(`a: ${text}`), yamlToJson(`a: "${text}`), yamlToJson(`a: |\n  ${text}`), yamlToJson(`a: [${text}]`)], YAML],
  ['a publisher\'s .prompt', text => readDotprompt(text, 'a.prompt'), TEMPLATE],
  ['a publisher\'s .prompt with messages', text => readDotprompt(`---\nmodel: x\n---\n{{role "user"}}${text}{{#if x}}\n{{/if}}`, 'a.prompt'), TEMPLATE],
  ['a publisher\'s Picoschema', text => schemaFromPico({ [text]: 'string', [`a(${text}`]: 'string' })],
  ['a publisher\'s template', prescan],
  ['a publisher\'s template, its language', async text => await detectSyntax([text], async () => {}), TEMPLATE],
  ['a publisher\'s template, the language of a tag', async text => await detectSyntax([`{{${text}}}`], async () => {}), TEMPLATE],
  ['a publisher\'s template, what is misread', text => findMisread(`{{${text}}}`), TEMPLATE],
  ['a publisher\'s template in Go', text => compile(goLanguage, `${text}{{- .a -}}${text}`), TEMPLATE / 2],
  ['a publisher\'s tag in Go', text => compile(goLanguage, `{{${text}}}`), TEMPLATE],
  ['a publisher\'s template in Handlebars', text => compile(handlebarsLanguage, `${text}x{{#if a}}${text}x{{/if}}{{~a~}}${text}`), TEMPLATE / 3],
  ['a publisher\'s tag in Handlebars', text => compile(handlebarsLanguage, `{{${text}}}`), TEMPLATE]
]

function compile (language: Language, text: string): void {
  prescan(text)
  language.compile({ text })
}

const PIECES = [
  ' ', '\t', '\n', '\r', '\r\n', 'a', '0', '1', '.', ',', ':', ';', '/', '\\', '\\"', '"', '\'', '`', '```', '{', '}', '[', ']', '(', ')', '<', '>', '{{', '}}', '{{!',
  '{{#if a}}', '{{/if}}', '{"a":', '*', '+', '-', '- ', '---', '|', '!', '?', '#', '$', '&', '@', '=', '~', '_', '%', '^', '\u001b', '\u001b[', '\u001b]', '\u001b]7717;',
  '[CMD]', '<think>', '</think>', 'yes ', 'commit ', 'File "', 'Bearer ', 'data:', 'as |', 'print ', 'a: ', 'a@b:', 'é', '\u0301', '😀', '\ud800', '\u0000'
]

describe('The time that a text of a stranger takes grows at most as its length', () => {
  for (const [whose, read, most = LONG] of READERS) {
    property(whose, 100, async given => {
      const pairs = given.sample(fc.tuple(fc.constantFrom(...PIECES), fc.constantFrom(...PIECES))).map(pair => pair.join(''))
      for (const piece of [...PIECES, ...pairs]) {
        // A letter at the end makes a match of all before it fail.
        for (const end of pairs.includes(piece) ? ['x'] : ['', 'x']) await assertLinear(read, length => `${end}${piece.repeat(Math.ceil(length / piece.length))}${end}`, most)
      }
    })
  }
})

/** Measures a text of a 64th of the length, of an eighth, and of the whole. What is quadratic is found before it takes long. */
async function assertLinear (read: Reader[1], textOf: (length: number) => string, most: number): Promise<void> {
  for (const length of [most / 64, most / 8, most]) {
    const text = textOf(length)
    if (await fastest(read, text, 1) < FAST) continue
    const [shorter, longer] = [await fastest(read, textOf(length / 8), 5), await fastest(read, text, 3)]
    const times = `${Math.round(shorter)} ms become ${Math.round(longer)} ms when it is 8 times as long`
    assert.ok(longer < FAST || longer < MOST * Math.max(shorter, 1), `${JSON.stringify(text.slice(0, 20))}… with ${text.length} characters: ${times}`)
  }
}

/** The least time in ms that the processor has worked, of some tries. The time that passes says little on a machine that does other things, too. */
async function fastest (read: Reader[1], text: string, times: number): Promise<number> {
  let least = Infinity
  for (let time = 0; time < times; time++) {
    const start = process.cpuUsage()
    try {
      await read(text)
    } catch {
      // That a text is refused is as good as that it is read.
    }
    const { user, system } = process.cpuUsage(start)
    least = Math.min(least, (user + system) / 1000)
  }
  return least
}
