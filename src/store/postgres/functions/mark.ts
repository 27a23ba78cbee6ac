/** What every process shall know for a while, such as sessions that were ended. */
export const markTable = (s: string): string => `
create table ${s}.mark (name text collate "C" primary key, expires_at bigint not null);`;
