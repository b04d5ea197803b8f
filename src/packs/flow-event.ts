import type { EventOrigin } from '../core/work.js';
import type { LoadedEvent } from '../store/store.js';
import { parseJson, parseJsonBody } from './safe-json.js';
import type { FlowEvent } from './types.js';

/** A stored Event as a flow sees it; what has to be parsed is parsed when it is asked for, once. */
export function loadedToFlowEvent(namespace: string, loaded: LoadedEvent): FlowEvent {
  return new LoadedFlowEvent(namespace, loaded);
}

class LoadedFlowEvent implements FlowEvent {
  readonly id: string;
  readonly namespace: string;
  readonly type: string;
  readonly sourceKey: string;
  readonly deliveryKey: string;
  readonly ordinal: number;
  readonly payload: Uint8Array;
  readonly receivedAt: Date;
  readonly origin: EventOrigin;
  readonly parentId: string | null;
  readonly #loaded: LoadedEvent;
  #headers: Readonly<Record<string, string>> | undefined;
  #companion: { readonly value: unknown } | undefined;
  #json: { readonly value: unknown } | undefined;

  constructor(namespace: string, loaded: LoadedEvent) {
    this.id = loaded.eventId;
    this.namespace = namespace;
    this.type = loaded.type;
    this.sourceKey = loaded.sourceKey;
    this.deliveryKey = loaded.deliveryKey;
    this.ordinal = loaded.ordinal;
    this.payload = loaded.payload;
    this.receivedAt = new Date(loaded.receivedAt);
    this.origin = loaded.origin;
    this.parentId = loaded.parentId;
    this.#loaded = loaded;
  }

  /** Names in lower case; several values of one name are joined with `, `. */
  get headers(): Readonly<Record<string, string>> {
    this.#headers ??= headerRecord(this.#loaded.headers);
    return this.#headers;
  }

  get companion(): unknown {
    const { companion } = this.#loaded;
    this.#companion ??= { value: companion === null ? null : parseJson(companion) };
    return this.#companion.value;
  }

  json(): unknown {
    this.#json ??= { value: parseJsonBody(this.payload, this.headers['content-type']) };
    return this.#json.value;
  }
}

function headerRecord(headers: LoadedEvent['headers']): Readonly<Record<string, string>> {
  const values = new Map<string, string>();
  for (const [name, value] of headers) {
    const key = name.toLowerCase();
    const before = values.get(key);
    values.set(key, before === undefined ? value : `${before}, ${value}`);
  }
  // fromEntries defines properties, so that a header called __proto__ is only a header.
  return Object.freeze(Object.fromEntries(values));
}
