import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { parseSkillResponse } from '../../../src/engine/skill/parse-skill-response.ts'
import { property } from '../../helpers/property.ts'

const EMPTY = { type: 'UNKNOWN', error: 'Empty or invalid AI response' }

const cases: ReadonlyArray<readonly [title: string, reply: string, reads: object]> = [
  ['S-16 a command', '[CMD] git status --porcelain', { type: 'CMD', content: '[CMD] git status --porcelain', command: 'git status --porcelain' }],
  ['S-17 a question', '[ASK] Введи сообщение коммита:', { type: 'ASK', content: '[ASK] Введи сообщение коммита:', question: 'Введи сообщение коммита:', required: true }],
  ['S-18 an optional question', '[ASK:optional] Хочешь добавить тег?', { type: 'ASK', content: '[ASK:optional] Хочешь добавить тег?', question: 'Хочешь добавить тег?', required: false }],
  ['S-19 a message', '[MESSAGE] Обрабатываю папку 1 из 3...', { type: 'MESSAGE', content: '[MESSAGE] Обрабатываю папку 1 из 3...', message: 'Обрабатываю папку 1 из 3...' }],
  ['S-20 an end', '[DONE] Коммит успешно создан: abc1234', { type: 'DONE', content: '[DONE] Коммит успешно создан: abc1234', message: 'Коммит успешно создан: abc1234' }],
  ['S-20 an end without words', '[DONE]', { type: 'DONE', content: '[DONE]', message: 'Skill completed' }],
  ['S-21 no tag', 'ls -la\nlists the folder', { type: 'CMD', content: '[CMD] ls -la', command: 'ls -la', fallback: true }],
  ['S-22 small letters and space', '  [cmd]   ls  \n', { type: 'CMD', content: '[CMD] ls', command: 'ls' }],
  ['S-22 a question of two lines', '[ASK] One\ntwo?', { type: 'ASK', content: '[ASK] One\ntwo?', question: 'One\ntwo?', required: true }],
  ['S-22 a fenced command', '[CMD] ```sh\nls\n```', { type: 'CMD', content: '[CMD] ls', command: 'ls' }],
  ['S-22 a command in quotes', '[CMD] `ls`', { type: 'CMD', content: '[CMD] ls', command: 'ls' }],
  ['S-22 nothing', ' \n ', EMPTY],
  ['S-22 a tag and nothing', '[CMD]', EMPTY],
  ['S-23 a command within a message', '[MESSAGE] next:\n[CMD] rm -rf /', { type: 'MESSAGE', content: '[MESSAGE] next:\n[CMD] rm -rf /', message: 'next:\n[CMD] rm -rf /' }],
  ['S-23 a command behind words', 'Well:\n[CMD] rm -rf /', { type: 'CMD', content: '[CMD] Well:', command: 'Well:', fallback: true }]
]

describe('parseSkillResponse', () => {
  for (const [title, reply, reads] of cases) {
    it(`reads ${title}`, () => { assert.deepEqual(parseSkillResponse(reply), reads) })
  }

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
      if (read.type === 'UNKNOWN' || read.type === 'CMD') return
      assert.deepEqual(parseSkillResponse(read.content), read)
    }))
  })
})
