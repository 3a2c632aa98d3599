/** How many hash slots a Redis Cluster has. */
export const SLOTS = 16384

/**
 * The hash slot of a key: CRC16 of the key, or of what stands between its first `{` and the next `}`, if that is not empty
 * (https://redis.io/docs/latest/operate/oss_and_stack/reference/cluster-spec/#hash-tags).
 */
export function keySlot (key: string): number {
  const open = key.indexOf('{')
  const close = open === -1 ? -1 : key.indexOf('}', open + 1)
  return crc16(Buffer.from(close > open + 1 ? key.slice(open + 1, close) : key)) % SLOTS
}

/** CRC-16/XMODEM, as the same page gives it. */
function crc16 (bytes: Uint8Array): number {
  let crc = 0
  for (const byte of bytes) {
    crc ^= byte << 8
    for (let bit = 0; bit < 8; bit++) crc = crc & 0x8000 ? ((crc << 1) ^ 0x1021) & 0xffff : (crc << 1) & 0xffff
  }
  return crc
}
