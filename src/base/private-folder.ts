import { chmod, mkdir } from 'node:fs/promises'

/** Modes of what the service keeps for itself: what sessions said and did is nobody else's on this machine. */
export const [PRIVATE_FOLDER, PRIVATE_FILE] = [0o700, 0o600]

/** Makes a folder that this user alone can enter, with those above it that are missing; one that is there becomes such a one. */
export async function makePrivateFolder (path: string): Promise<void> {
  await mkdir(path, { recursive: true, mode: PRIVATE_FOLDER })
  await chmod(path, PRIVATE_FOLDER)
}
