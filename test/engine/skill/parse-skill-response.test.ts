import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { parseSkillResponse } from '../../../src/engine/skill/parse-skill-response.ts'
import { cpuTimeOf } from '../../helpers/cpu-time.ts'
import { property } from '../../helpers/property.ts'

const EMPTY = { type: 'UNKNOWN', error: 'Empty or invalid AI response' }

const whole = (command: string) => ({ type: 'CMD', content: `[CMD] ${command}`, command })
const unclear = (problem: string) => ({ type: 'UNCLEAR', problem })
const MORE = unclear('more lines follow where the command has ended')
const FENCE = unclear('a fenced block has no end, or more than one begins')

const cases: ReadonlyArray<readonly [title: string, reply: string, reads: object]> = [
  ['S-16 a command', '[CMD] git status --porcelain', { type: 'CMD', content: '[CMD] git status --porcelain', command: 'git status --porcelain' }],
  ['S-17 a question', '[ASK] Введи сообщение коммита:', { type: 'ASK', content: '[ASK] Введи сообщение коммита:', question: 'Введи сообщение коммита:', required: true }],
  ['S-18 an optional question', '[ASK:optional] Хочешь добавить тег?', { type: 'ASK', content: '[ASK:optional] Хочешь добавить тег?', question: 'Хочешь добавить тег?', required: false }],
  ['S-19 a message', '[MESSAGE] Обрабатываю папку 1 из 3...', { type: 'MESSAGE', content: '[MESSAGE] Обрабатываю папку 1 из 3...', message: 'Обрабатываю папку 1 из 3...' }],
  ['S-20 an end', '[DONE] Коммит успешно создан: abc1234', { type: 'DONE', content: '[DONE] Коммит успешно создан: abc1234', message: 'Коммит успешно создан: abc1234' }],
  ['S-20 an end without words', '[DONE]', { type: 'DONE', content: '[DONE]', message: 'Skill completed' }],
  ['S-21 no tag', 'ls -la', { type: 'CMD', content: '[CMD] ls -la', command: 'ls -la', fallback: true }],
  ['S-21 no tag, and several lines', 'ls -la\nlists the folder', MORE],
  ['S-22 small letters and space', '  [cmd]   ls  \n', { type: 'CMD', content: '[CMD] ls', command: 'ls' }],
  ['S-22 a question of two lines', '[ASK] One\ntwo?', { type: 'ASK', content: '[ASK] One\ntwo?', question: 'One\ntwo?', required: true }],
  ['S-22 a fenced command', '[CMD] ```sh\nls\n```', { type: 'CMD', content: '[CMD] ls', command: 'ls' }],
  ['S-22 a command in quotes', '[CMD] `ls`', { type: 'CMD', content: '[CMD] ls', command: 'ls' }],
  ['S-22 nothing', ' \n ', EMPTY],
  ['S-22 a tag and nothing', '[CMD]', EMPTY],
  ['S-23 a command within a message', '[MESSAGE] next:\n[CMD] rm -rf /', { type: 'MESSAGE', content: '[MESSAGE] next:\n[CMD] rm -rf /', message: 'next:\n[CMD] rm -rf /' }],
  ['S-23 a command behind words', 'Well:\n[CMD] rm -rf /', MORE],
  ['a fence in a line of its own', '[CMD]\n```bash\ncd a\nmake\n```', whole('cd a\nmake')],
  ['a fence and what is said of it', '[CMD] ```\nls\n```\nIt lists the folder.', whole('ls')],
  ['a fence without a tag', '```sh\nls\n```', { ...whole('ls'), fallback: true }],
  ['a tag in a fence', '```\n[CMD] ls\n```', whole('ls')],
  ['words before a fence', '[CMD] Run this:\n```sh\nls\n```', MORE],
  ['a fence without an end', '[CMD] ```sh\nls', FENCE],
  ['two fences', '[CMD] ```sh\nls\n```\nthen\n```sh\npwd\n```', FENCE],
  ['a command and a remark', '[CMD] ls\n\nIt lists the folder.', MORE],
  ['two commands', '[CMD] cd a\nmake', MORE],
  ['a line that goes on', '[CMD] docker run \\\n  --rm \\\n  alpine', whole('docker run \\\n  --rm \\\n  alpine')],
  ['a line that goes on with nothing', '[CMD] docker run \\', unclear('its last line ends in \\')],
  ['a line that ends in &&', '[CMD] cd a &&\nmake | \ntee log', whole('cd a &&\nmake | \ntee log')],
  ['a last line that ends in &&', '[CMD] cd a &&', unclear('its last line ends in && or |')],
  ['a line that goes on, and a remark', '[CMD] cd a &&\nmake\nIt builds.', MORE],
  ['a quote of several lines', '[CMD] git commit -m "one\n\ntwo"', whole('git commit -m "one\n\ntwo"')],
  ['a quote without an end', "[CMD] echo don't", unclear("the quote ' has no end")],
  ['quotes in quotes and comments', '[CMD] echo "don\'t" \\" # isn\'t', whole('echo "don\'t" \\" # isn\'t')],
  ['a here-document', "[CMD] cat > a <<'EOF'\nit's\n[CMD] rm x\nEOF", whole("cat > a <<'EOF'\nit's\n[CMD] rm x\nEOF")],
  ['an indented here-document', '[CMD] cat <<-EOF\n\ta\n\tEOF', whole('cat <<-EOF\n\ta\n\tEOF')],
  ['a here-document without an end', '[CMD] cat <<EOF\na', unclear('the here-document has no line "EOF" at its end')],
  ['a here-document that is missing', '[CMD] cat <<EOF', unclear('the here-document has no line "EOF" at its end')],
  ['a here-document and a remark', '[CMD] cat <<EOF\na\nEOF\nIt prints a.', MORE],
  ['an empty comment', '[CMD] ls #', whole('ls #')],
  ['a here-string', '[CMD] cat <<< "a"', whole('cat <<< "a"')]
]

describe('parseSkillResponse', () => {
  for (const [title, reply, reads] of cases) {
    it(`reads ${title}`, () => { assert.deepEqual(parseSkillResponse(reply), reads) })
  }

  it('reads the first line alone in a session of an earlier version', () => {
    assert.deepEqual([parseSkillResponse('[CMD] ls -la\nlists', true), parseSkillResponse('[CMD] cat <<EOF\na', true)], [whole('ls -la'), whole('cat <<EOF')])
  })

  it('reads 1 MiB of quotes, here-documents and fences in linear time', () => {
    for (const flood of ['"\\"', "'", '<<E\n', '<<', '#', ' #', '```\n', '\n', 'a &&\n', '\\\n', '`']) {
      const time = cpuTimeOf(() => parseSkillResponse(`[CMD] a${flood.repeat(2 ** 20 / flood.length)}`))
      // Linear work takes at most a second; what grows with the square would take minutes.
      assert.ok(time < 20_000, flood)
    }
  })

  const tag = fc.constantFrom('[CMD]', '[ASK]', '[ASK:optional]', '[MESSAGE]', '[DONE]', '[done]', '```', '`', '\n', ' ')
  const reply = fc.array(fc.oneof(tag, fc.string({ maxLength: 10 })), { maxLength: 12 }).map(parts => parts.join(''))

  property('throws at no reply, and takes a command for one only where it begins with the tag', 100, given => {
    given.holds(fc.property(reply, text => {
      const read = parseSkillResponse(text)
      if (read.type === 'CMD' && read.fallback !== true) assert.match(text.trim().replace(/^```.*\n/, '').trim(), /^\[CMD\]/i)
    }))
  })

  property('reads what it keeps for the record as the same again', 100, given => {
    given.holds(fc.property(reply, text => {
      const read = parseSkillResponse(text)
      if (read.type === 'UNKNOWN' || read.type === 'UNCLEAR' || read.type === 'CMD') return
      assert.deepEqual(parseSkillResponse(read.content), read)
    }))
  })
})
