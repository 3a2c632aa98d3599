/** The number of slots over which a Redis Cluster spreads its keys. */
export const SLOTS = 16384

/**
 * The slot of a key in a Redis Cluster: the CRC16 (XMODEM) of the key, or of the text in its first braces
 * (https://redis.io/docs/latest/operate/oss_and_stack/reference/cluster-spec/#hash-tags).
 */
export function keySlot (key: string): number {
  let sum = 0
  for (const byte of Buffer.from(hashed(key))) {
    sum ^= byte << 8
    for (let bit = 0; bit < 8; bit++) sum = (sum & 0x8000) === 0 ? sum << 1 : (sum << 1) ^ 0x1021
    sum &= 0xffff
  }
  return sum % SLOTS
}

function hashed (key: string): string {
  const open = key.indexOf('{')
  const close = key.indexOf('}', open + 1)
  return open === -1 || close <= open + 1 ? key : key.slice(open + 1, close)
}
