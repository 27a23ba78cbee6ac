/** Numbers of things, as people read them. */

/** 1234567 is "1,234,567". */
export function count(value: number): string {
  return String(value).replace(/\B(?=(\d{3})+$)/g, ",");
}

/** "1 job", "2 jobs"; with a verb that follows: `counted(n, "job waits", "jobs wait")`. */
export function counted(number: number, one: string, many = `${one}s`): string {
  return `${count(number)} ${number === 1 ? one : many}`;
}
