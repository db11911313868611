// SPDX-License-Identifier: Apache-2.0
/// <reference types="node" />

/** A configuration, with the keys of the configuration file: `agentbox help keys`. */
export type Config = { [key: string]: unknown };
/** Shell text, or a program and its arguments. */
export type Command = string | readonly string[];

export interface Check {
  decision: 'allow' | 'sandboxed' | 'escalated' | 'forbidden';
  rule: string | null;
  reason: string | null;
  part: string | null;
}

export interface Question extends Check {
  command: Command;
}

export interface Violation {
  time: string;
  operation: 'file-read' | 'file-write' | 'network' | 'process' | 'other';
  path: string | null;
  host: string | null;
  port: number | null;
  detail: string;
  pid: number;
  process: string;
  rule: string;
  origin: string;
  /** FILE:LINE:COLUMN of the rule. */
  source: string | null;
  count: number;
  grant: string | null;
  note: string | null;
}

export interface Result {
  exitCode: number;
  signal: number | null;
  timedOut: boolean;
  stdout: Buffer;
  stderr: Buffer;
  /** There was more than maxOutputBytes, which was not kept. */
  truncated: { stdout: boolean; stderr: boolean };
  durationNs: number;
  sandboxed: boolean;
  /** native, bwrap, landlock or none. */
  backend: string;
  enforced: string[];
  /** What a weaker back end could not keep. */
  gaps: string[];
  /** notify or none. */
  monitor: string;
  violations: Violation[];
  violationsDropped: number;
  usage: { userNs: number; systemNs: number; maxRssBytes: number };
}

export interface RunOptions {
  cwd?: string;
  /** The command's; the program itself keeps this process's HOME, XDG_* and PATH. */
  env?: NodeJS.ProcessEnv;
  timeoutMs?: number;
  /** Keys of this command alone. */
  settings?: Config;
  /** What becomes its standard input; 'ignore' if nothing is said. */
  input?: 'ignore' | 'inherit';
  /** Or: what it reads there. */
  stdin?: string | Uint8Array;
  /** Bytes of streams 1 and 2 as they come, also beyond maxOutputBytes. If it throws, the command is ended, and run rejects with that. */
  onOutput?: (stream: 1 | 2, bytes: Buffer) => void;
  /** Ends the command, as SIGTERM does; run rejects once it has ended. */
  signal?: AbortSignal;
}

/** The command did not run: the sandbox could not be made, or the command is forbidden or not approved. */
export class AgentboxError extends Error {
  /** The message without the hint. */
  readonly reason: string;
  readonly hint: string;
  /** 125 could not, or misused; 126 forbidden, not approved, not executable; 127 not found. */
  readonly exitCode: number;
}

export class Sandbox {
  constructor(
    config?: Config,
    options?: { program?: string; approve?: (question: Question) => boolean | Promise<boolean> },
  );
  /** Another configuration for the commands to come. */
  update(config: Config): void;
  /** The verdict alone; nothing runs. */
  check(command: Command, options?: Pick<RunOptions, 'cwd' | 'settings'>): Promise<Check>;
  run(command: Command, options?: RunOptions): Promise<Result>;
}
