// SPDX-License-Identifier: Apache-2.0
//
// agentbox for Node: the program `agentbox`, and its JSON. No dependency, no native code. The program is
// looked for on PATH, or where AGENTBOX or the option `program` says. See index.d.ts and README.md.
'use strict';

const { spawn } = require('node:child_process');
const fs = require('node:fs/promises');
const os = require('node:os');
const path = require('node:path');

class AgentboxError extends Error {
  constructor(message, hint, exitCode) {
    super(hint ? `${message} (${hint})` : message);
    this.name = 'AgentboxError';
    this.reason = message;
    this.hint = hint;
    this.exitCode = exitCode;
  }
}

// Only rules are objects: anything else would become a path or a host of that spelling.
function entryOf(name, entry) {
  if (typeof entry === 'string' || typeof entry === 'number') return entry;
  if (name === 'classifier.rules' && entry !== null && typeof entry === 'object') return JSON.stringify(entry);
  throw new TypeError(`an entry of '${name}' must be a text, not ${JSON.stringify(entry)}`);
}

// A misspelt option would be no option at all: no time limit, nobody to ask.
function checkOptions(options, known) {
  for (const name of Object.keys(options)) {
    if (!known.includes(name)) throw new TypeError(`there is no option '${name}'; there are ${known.join(', ')}`);
  }
}
const CHECK_OPTIONS = ['cwd', 'settings'];
const RUN_OPTIONS = [...CHECK_OPTIONS, 'env', 'input', 'onOutput', 'signal', 'stdin', 'timeoutMs'];

// A configuration object as options: --set a.b=value, once for each entry of a list or a map.
function settingsOf(config, prefix = '') {
  const out = [];
  for (const [key, value] of Object.entries(config || {})) {
    const name = prefix + key;
    if (value === undefined) continue;
    if (Array.isArray(value)) {
      for (const entry of value) out.push('--set', `${name}=${entryOf(name, entry)}`);
    } else if (name === 'network' && typeof value === 'boolean') {
      out.push('--set', `network.mode=${value ? 'allowed' : 'blocked'}`);
    } else if (value !== null && typeof value === 'object') {
      if (MAPS.has(name)) for (const [k, v] of Object.entries(value)) out.push('--set', `${name}=${k}=${v}`);
      else out.push(...settingsOf(value, `${name}.`));
    } else {
      out.push('--set', `${name}=${value}`);
    }
  }
  return out;
}
const MAPS = new Set(['environment.set', 'commands', 'classifier.overrides']);

function wordsOf(command) {
  if (typeof command === 'string') return ['-c', command];
  if (!Array.isArray(command) || command.length === 0) throw new TypeError('a command is a text, or a list of words');
  return ['--', ...command];
}

// What the program said about itself: "agentbox: MESSAGE", "hint: HINT".
function errorOf(stderr, exitCode) {
  const message = /^agentbox: (.*)$/m.exec(stderr);
  const hint = /^hint: (.*)$/m.exec(stderr);
  return new AgentboxError(message ? message[1] : `agentbox ended with ${exitCode}`, hint ? hint[1] : '', exitCode);
}

// How much of each stream is kept, by the first that says something; the program's own default is the last.
function limitOf(...values) {
  for (const value of values) {
    const size = /^(\d+)([KMGTP]?)(i?B)?$/i.exec(String(value));
    const power = size ? ' KMGTP'.indexOf(size[2].toUpperCase() || ' ') : 0;
    if (size) return Number(size[1]) * 1024 ** power || Infinity; // 0: no limit
  }
  return 10485760;
}

// The command's variables go through the program, whose own they must not be: it finds its configuration and state by
// these, and what loads code into programs would do so outside of the sandbox. (The command never gets such.)
const OWN = ['HOME', 'XDG_CONFIG_HOME', 'XDG_STATE_HOME', 'XDG_RUNTIME_DIR'];
function variablesOf(given) {
  const env = {};
  const words = [];
  if (given === undefined) return { env: process.env, words };
  for (const [name, value] of Object.entries(given)) {
    if (value === undefined) continue;
    if (OWN.includes(name)) words.push('--env', `${name}=${value}`);
    else if (!/^(LD_|GLIBC_TUNABLES$)/.test(name)) env[name] = value;
  }
  for (const name of OWN.filter((own) => process.env[own] !== undefined)) {
    env[name] = process.env[name];
    if (given[name] === undefined && name !== 'HOME') words.push('--unset-env', name);
  }
  return { env, words };
}

// By this process's PATH, never by that of the command, which may lead into its project.
async function locate(program) {
  for (const dir of program.includes('/') ? [] : (process.env.PATH || '').split(':')) {
    const file = path.join(dir, program);
    const found = await fs.stat(file).catch(() => null);
    if (dir !== '' && found && found.isFile()) return file;
  }
  if (!program.includes('/')) throw startError(program, { code: 'ENOENT' });
  return program;
}

// The program itself could not be started.
function startError(program, error) {
  if (error.name === 'AbortError') return error;
  return new AgentboxError(`start '${program}': ${error.code || error.message}`,
    'install agentbox, or name it with AGENTBOX or the option `program`', 125);
}

// Starts the program; resolves with { code, stdout, stderr, truncated }. A callback that throws ends it. What comes
// beyond the limit is read all the same, and not kept.
async function start(program, args, { input = 'ignore', stdin, env, signal, onOutput, limit = Infinity } = {}) {
  const file = await locate(program);
  return new Promise((resolve, reject) => {
    const child = spawn(file, args, { stdio: [stdin === undefined ? input : 'pipe', 'pipe', 'pipe'], env, signal });
    const parts = [[], []];
    const sizes = [0, 0];
    let problem = null;
    for (const n of [1, 2]) {
      child.stdio[n].on('data', (bytes) => {
        if (sizes[n - 1] < limit) parts[n - 1].push(bytes.subarray(0, limit - sizes[n - 1]));
        sizes[n - 1] += bytes.length;
        if (!onOutput || problem) return;
        try {
          onOutput(n, bytes);
        } catch (error) {
          problem = { error };
          child.kill('SIGKILL'); // the sandbox goes with it, at once
        }
      });
    }
    if (stdin !== undefined) {
      child.stdin.on('error', () => {}); // the command does not want it all
      child.stdin.end(stdin);
    }
    child.on('error', (error) => {
      problem = problem || { error: startError(program, error) };
      if (child.pid === undefined) reject(problem.error); // else it is being ended: it may take its time
    });
    child.on('close', (code) => {
      const [stdout, stderr] = parts.map((list) => Buffer.concat(list));
      const truncated = { stdout: sizes[0] > limit, stderr: sizes[1] > limit };
      if (problem) reject(problem.error);
      else resolve({ code: code === null ? 128 : code, stdout, stderr, truncated });
    });
  });
}

class Sandbox {
  constructor(config = {}, options = {}) {
    checkOptions(options, ['approve', 'program']);
    this.program = options.program || process.env.AGENTBOX || 'agentbox';
    this.approve = options.approve;
    this.update(config);
  }

  // For the commands to come; what runs keeps what it has.
  update(config) {
    this.settings = settingsOf(config);
    this.limit = (config || {}).maxOutputBytes;
  }

  async check(command, options = {}) {
    checkOptions(options, CHECK_OPTIONS);
    const args = ['check', '--json', ...this.settings, ...settingsOf(options.settings)];
    if (options.cwd !== undefined) args.push('-C', options.cwd);
    const done = await start(this.program, [...args, ...wordsOf(command)]);
    if (done.code > 2) throw errorOf(done.stderr.toString(), done.code);
    return JSON.parse(done.stdout);
  }

  // Only what the approver says true to runs; an approver that throws has said no.
  async approved(command, options) {
    if (!this.approve) return false;
    const verdict = await this.check(command, { cwd: options.cwd, settings: options.settings });
    if (verdict.decision !== 'escalated') return false;
    try {
      return (await this.approve({ ...verdict, command })) === true;
    } catch {
      return false;
    }
  }

  // The program's hint about approvals speaks of its options; here there is a callback.
  refusal(error) {
    if (!error.hint.startsWith('--approve ')) return error;
    const hint = this.approve ? 'the approver did not say true' : 'give the Sandbox an approver: the option `approve`';
    return new AgentboxError(error.reason, hint, error.exitCode);
  }

  async run(command, options = {}) {
    checkOptions(options, RUN_OPTIONS);
    const { stdin } = options;
    if (stdin !== undefined && typeof stdin !== 'string' && !(stdin instanceof Uint8Array)) {
      throw new TypeError('stdin is a text, or bytes');
    }
    const words = wordsOf(command);
    const variables = variablesOf(options.env);
    const limit = limitOf((options.settings || {}).maxOutputBytes, this.limit);
    const yes = await this.approved(command, options);
    const dir = await fs.mkdtemp(path.join(os.tmpdir(), 'agentbox-'));
    try {
      const file = path.join(dir, 'result.json');
      const args = ['run', '-q', '--approve', yes ? 'yes' : 'deny', '--result', file, ...this.settings];
      if (options.cwd !== undefined) args.push('-C', options.cwd);
      if (options.timeoutMs !== undefined) args.push('--timeout', `${Math.max(1, Math.ceil(options.timeoutMs))}ms`);
      args.push(...variables.words, ...settingsOf(options.settings), ...words);
      const done = await start(this.program, args, { ...options, env: variables.env, limit });
      const result = await fs.readFile(file, 'utf8').catch(() => '');
      if (!result) throw this.refusal(errorOf(done.stderr.toString(), done.code));
      return { ...JSON.parse(result), stdout: done.stdout, stderr: done.stderr, truncated: done.truncated };
    } finally {
      await fs.rm(dir, { recursive: true, force: true });
    }
  }
}

module.exports = { AgentboxError, Sandbox };
