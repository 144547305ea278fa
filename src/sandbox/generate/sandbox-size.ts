/** Numbers of records of each kind. */
export interface SandboxSize {
  followups: number;
  employees: number;
  equipment: number;
  resources: number;
  /** Accounts that observe, assign and complete. `users.info` knows the other employees, too. */
  users: number;
}

export const defaultSize: SandboxSize = {
  followups: 2000,
  employees: 300,
  equipment: 400,
  resources: 150,
  users: 120,
};
