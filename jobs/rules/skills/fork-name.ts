import { cutName } from './install-name.ts'
import { MAX_NAME } from './skill.ts'

/** The names that a copy of a skill can get, the first that is free: its own, then with -2, -3 and so on. */
export function forkNames(name: string): string[] {
  const numbered = Array.from({ length: MOST - 1 }, (_, i) => {
    const suffix = `-${i + 2}`
    return `${cutName(name, MAX_NAME - suffix.length)}${suffix}`
  })
  return [name, ...numbered]
}

const MOST = 50
