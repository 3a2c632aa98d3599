import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { Marks, type OutputPiece } from '../../../src/exec/terminal/terminal.ts'
import { cpuTimeOf } from '../../helpers/cpu-time.ts'

const [START, END] = ['\x1b]7717;', '\x07']

describe('Marks in what a terminal shows', () => {
  it('are taken out and read', () => {
    const shown = `a${START}s3cret;p;7;1${END}web$ ${START}s3cret;e${END}x${START}b;id${END}y`
    assert.deepEqual(read([shown]), [
      text('a'), { kind: 'prompt', number: 7, status: 1 }, text('web$ '), { kind: 'shown' }, text('x'), { kind: 'begin', id: 'id' }, text('y')
    ])
  })

  it('are read wherever their parts are cut', () => {
    const shown = `a${START}s3cret;p;7;0${END}b`
    const whole = [text('a'), { kind: 'prompt', number: 7, status: 0 }, text('b')]
    for (let at = 1; at < shown.length; at++) assert.deepEqual(joined(read([shown.slice(0, at), shown.slice(at)])), whole, String(at))
  })

  for (const [what, forged] of [['another secret', `${START}other;p;9;0${END}`], ['no number', `${START}s3cret;p;;0${END}`], ['another kind', `${START}s3cret;x${END}`]] as const) {
    it(`with ${what} are taken out and say nothing`, () => {
      assert.deepEqual(joined(read([`a${forged}b`])), [text('ab')])
    })
  }

  it('without an end do not hide the one behind them', () => {
    assert.deepEqual(read([`${START}forged ${START}s3cret;p;1;0${END}`]), [{ kind: 'prompt', number: 1, status: 0 }])
  })

  it('that are too long are none, and hold nothing back', () => {
    assert.deepEqual(joined(read([`${START}${'x'.repeat(10_000)}`, `${END}b`])), [text(`${END}b`)])
  })

  it('leave other sequences as they are', () => {
    const shown = '\x1b]0;title\x07\x1b[31mred\x1b[0m\x1b]77'
    assert.deepEqual(joined(read([shown, '18;x\x07'])), [text(`${shown}18;x\x07`)])
  })

  it('are read in linear time out of 10 MB of escapes', () => {
    const marks = new Marks('s3cret')
    const part = `${START}x${END}\x1b]7717`.repeat(5000)
    assert.ok(cpuTimeOf(() => { for (let n = 0; n < 10_000_000 / part.length; n++) marks.read(part) }) < 5000)
  })
})

function text (shown: string): OutputPiece {
  return { kind: 'text', text: shown }
}

function read (parts: readonly string[]): OutputPiece[] {
  const marks = new Marks('s3cret')
  return parts.flatMap(part => marks.read(part))
}

/** Texts in a row as one. */
function joined (pieces: readonly OutputPiece[]): OutputPiece[] {
  return pieces.reduce<OutputPiece[]>((all, piece) => {
    const last = all.at(-1)
    return piece.kind === 'text' && last?.kind === 'text' ? [...all.slice(0, -1), text(last.text + piece.text)] : [...all, piece]
  }, [])
}
