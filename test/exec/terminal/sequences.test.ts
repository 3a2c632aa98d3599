import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { SequenceFilter, TerminalModes } from '../../../src/exec/terminal/sequences.ts'
import { KEPT_OUTPUT, ShownOutput } from '../../../src/exec/terminal/terminal.ts'
import { cpuTimeOf } from '../../helpers/cpu-time.ts'

const [ST, BEL] = ['\x1b\\', '\x07']

/** What some terminal answers by itself, or would let through to one that does. */
const ASKS: Readonly<Record<string, string>> = {
  'a colour': `\x1b]11;?${BEL}`,
  'a colour, ended by ST': `\x1b]10;?${ST}`,
  'a colour of the palette': `\x1b]4;1;?${BEL}`,
  'a colour behind one that is set': `\x1b]4;1;red;2;?${BEL}`,
  'the cursor\'s colour': `\x1b]12;?${BEL}`,
  'the clipboard': `\x1b]52;c;?${BEL}`,
  'its font': `\x1b]50;?${BEL}`,
  'what it can': `\x1b]1337;ReportCellSize${BEL}`,
  'a setting (DECRQSS)': `\x1bP$qm${ST}`,
  'a capability': `\x1bP+q544e${ST}`,
  'that a key types something': `\x1bP1;1|17/6c730d${ST}`,
  'through tmux': `\x1bPtmux;\x1b\x1b]11;?${BEL}${ST}`,
  'of pictures': `\x1b_Gi=1,a=q;AAAA${ST}`,
  'a mode (DECRQM)': '\x1b[?2004$p',
  'an ANSI mode': '\x1b[4$p',
  'what it is (DA)': '\x1b[c',
  'what it is, second': '\x1b[>0c',
  'what it is, third': '\x1b[=c',
  'what it is (DECID)': '\x1bZ',
  'its version': '\x1b[>q',
  'where the cursor is (DSR)': '\x1b[6n',
  'its state': '\x1b[?996n',
  'its parameters': '\x1b[x',
  'its size': '\x1b[18t',
  'its title': '\x1b[21t',
  'its keyboard': '\x1b[?u',
  'what keys say': '\x1b[?4m',
  'a checksum of the screen': '\x1b[1;1;1;1;5;5*y',
  'where its tabs are': '\x1b[2$w',
  'of graphics': '\x1b[?1;1;0S',
  'its size from now on': '\x1b[?25;2048h',
  'with an 8-bit control': '\x9d11;?\x07'.replace('11;?\x07', '6n'),
  'by ENQ': '\x05',
  'in another character set': '\x1b%@',
  'as a VT52': '\x1b[?2l'
}

/** What programs print to be seen. */
const SHOWS: Readonly<Record<string, string>> = {
  text: 'text with ünïcode 🙂 and a ? in it\r\n\t\b',
  styles: '\x1b[1;38:5:4mmain\x1b[0m \x1b[38;2;1;2;3mx\x1b[m',
  moves: '\x1b[2J\x1b[H\x1b[10;20Hx\x1b[K\x1b[3A\x1b[?25l\x1b[5 q\x1b7\x1b8\x1bM\x1b[1;20r\x1b[2L\x1b[3P\x1b[4X\x1b[b',
  modes: '\x1b[?1049h\x1b[?1000;1006h\x1b[?2004h\x1b=\x1b[?1h\x1b[4h\x1b[!p\x1b[>4;1m\x1b[22;0t\x1b[23;0t',
  lines: '\x1b(0lqk\x1b(B',
  'a title and a link': `\x1b]0;what?${BEL}\x1b]8;;https://example.org/?q=1${BEL}here\x1b]8;;${BEL}`,
  'colours that are set': `\x1b]11;#000000${BEL}\x1b]104${BEL}\x1b]112${BEL}`
}

describe('What a terminal shows', () => {
  for (const [what, sequence] of Object.entries(ASKS)) {
    it(`does not ask ${what}, wherever it is cut`, () => {
      const text = `before${sequence}\rbehind`
      for (let at = 0; at <= text.length; at++) {
        const shown = read([text.slice(0, at), text.slice(at)])
        assert.doesNotMatch(shown, /[\x05\x1b\x80-\x9f]/, JSON.stringify([at, shown])) // eslint-disable-line no-control-regex
        assert.match(shown, /^before[^]*\rbehind$/)
      }
    })
  }

  for (const [what, text] of Object.entries(SHOWS)) {
    it(`has ${what}, wherever it is cut`, () => {
      for (let at = 0; at <= text.length; at++) assert.equal(read([text.slice(0, at), text.slice(at)]), text, String(at))
      assert.equal(read([...text]), text)
    })
  }

  it('asks nothing by a sequence inside of another one, with controls in it, or broken off', () => {
    const parts = ['\x1b[', '\x1b]11;?', '\x1bP', '\x1b_', '\x1b', '6', '?', ';', 'n', 'c', '$p', '11', BEL, ST, '\x18', '\n', '\x9b', '\x9c', ' ', 'Z', 'x'.repeat(5000)]
    let seed = 1
    const next = (most: number): number => (seed = seed * 48271 % 0x7fffffff) % most
    for (let n = 0; n < 20_000; n++) {
      const pieces = Array.from({ length: 1 + next(8) }, () => parts[next(parts.length)] as string)
      const shown = read(pieces)
      assert.deepEqual(Array.from(shown.matchAll(/\x1b(?!\[[\d;]*[@A-Zacdmru]|\]11;[^?]*\x07|[78=>DEHMc])[^]{0,9}|[\x80-\x9f]/g)), [], JSON.stringify([pieces, shown])) // eslint-disable-line no-control-regex
    }
  })

  it('goes on behind a string that never ends, or that is longer than any that is passed on', () => {
    assert.equal(read([`\x1b]0;${'x'.repeat(1e6)}`, `x${BEL}seen`]), 'seen')
    assert.equal(read(['\x1b]0;hidden', '\x1b[31mseen']), '\x1b[31mseen')
    assert.equal(read(['\x1bPq', 'picture'.repeat(1e5), `${ST}seen`]), 'seen')
    const filter = new SequenceFilter()
    assert.equal(filter.read('\x1b]0;hidden'), '')
    filter.reset()
    assert.equal(filter.read('seen'), 'seen')
  })

  it('is read in linear time', () => {
    const work = (size: number): number => {
      const text = '\x1b]0;\x1b[1;\x1b]11;?'.repeat(size)
      const filter = new SequenceFilter()
      return cpuTimeOf(() => { for (let at = 0; at < text.length; at += 1000) filter.read(text.slice(at, at + 1000)) })
    }
    work(20_000)
    assert.ok(work(160_000) < 30 * Math.max(work(20_000), 1))
  })
})

describe('The output that is kept of a program that prints no line feed', () => {
  const SEQUENCES = ['\x1b[31;1m', '\x1b[10;20H', '\x1b[?25l', '\x1b[?25h', `\x1b]0;title ${'x'.repeat(60)}${BEL}`, 'word 🙂 ']

  it('begins with no half of a sequence or character, wherever it is cut', () => {
    for (let shift = 0; shift < 100; shift++) {
      const shown = new ShownOutput()
      shown.append('x'.repeat(shift))
      for (let n = 0; n < 30_000; n++) shown.append(SEQUENCES[n % SEQUENCES.length] as string)
      const text = shown.text().replace(/^(?:\x1b\[\?\d+[hl])*/, '') // eslint-disable-line no-control-regex
      assert.ok(text.length <= KEPT_OUTPUT && text.length > KEPT_OUTPUT / 2)
      assert.ok(SEQUENCES.some(each => text.startsWith(each)) || /^[word ]+ /.test(text) || /^🙂? /u.test(text), JSON.stringify(text.slice(0, 40)))
    }
  })

  it('is cut in the same way where it came in one part', () => {
    for (let shift = 0; shift < 100; shift++) {
      const shown = new ShownOutput()
      shown.append('x'.repeat(shift) + SEQUENCES.join('').repeat(3000))
      assert.match(shown.text(), /^(?:\x1b\[\?\d+[hl])*(?:\x1b[[\]]|[word ]* |🙂 )/u) // eslint-disable-line no-control-regex
    }
  })

  it('begins with the modes in which what is gone has left the terminal', () => {
    const shown = new ShownOutput()
    shown.append('\x1b[?1049h\x1b[?2004h\x1b[?1h\x1b=\x1b[?1002;1006h\x1b[?25l\x1b[?1004h\x1b[?1004l')
    for (let n = 0; n < 50_000; n++) shown.append(`\x1b[${n % 24};1Hword`)
    assert.match(shown.text(), /^\x1b\[\?1049h\x1b\[\?2004h\x1b\[\?1h\x1b\[\?66h\x1b\[\?1002h\x1b\[\?1006h\x1b\[\?25l\x1b\[\d+;1Hword/) // eslint-disable-line no-control-regex
  })

  it('begins with no mode that was left again', () => {
    const shown = new ShownOutput()
    shown.append('\x1b[?1049h\x1b[?1h\x1b[?25l')
    shown.append(`${'x'.repeat(KEPT_OUTPUT)}\x1b[?1049l\x1b[?1l\x1b[?25h`)
    shown.append(`${'y'.repeat(KEPT_OUTPUT)}`)
    assert.match(shown.text(), /^y+$/)
  })
})

describe('The modes of a terminal', () => {
  for (const [text, on, off] of [
    ['\x1b[?1049;25h', '\x1b[?1049h', '\x1b[?1049l'],
    ['\x1b[?47h\x1b[?1047l', '', ''],
    ['\x1b[?7l\x1b[?2004h', '\x1b[?7l\x1b[?2004h', '\x1b[?7h\x1b[?2004l'],
    ['\x1b=\x1b[?1h\x1b[?2004h\x1b[!p', '\x1b[?2004h', '\x1b[?2004l'],
    ['\x1b[?1000h\x1bc', '', '']
  ] as const) {
    it(`after ${JSON.stringify(text)} are set by ${JSON.stringify(on)}`, () => {
      const modes = new TerminalModes()
      modes.see(text)
      assert.deepEqual([modes.text(), modes.text(true)], [on, off])
    })
  }
})

function read (parts: readonly string[]): string {
  const filter = new SequenceFilter()
  return parts.map(part => filter.read(part)).join('')
}
