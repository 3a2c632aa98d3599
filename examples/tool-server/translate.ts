/** The words that the example knows; a real server would ask a model. */
const WORDS: ReadonlyMap<string, string> = new Map([
  ['创建订单', 'creates an order'],
  ['记录金额', 'records the amount'],
  ['返回', 'returns'],
  ['错误', 'error']
])

/** Code with the Chinese words that are known replaced by English ones. */
export function translate (code: string): string {
  return [...WORDS].reduce((text, [chinese, english]) => text.replaceAll(chinese, english), code)
}
