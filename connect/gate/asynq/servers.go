package asynq

import (
	"context"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/sojourn-sched/sojourn/connect/gate"
)

const (
	// beat is the time between two heartbeats of a server of asynq 0.26, and more than that. What a server writes in
	// one lasts for 10 s in Redis.
	beat = 7 * time.Second

	// silent is what is left of these 10 s when a server counts as dead.
	silent = 10*time.Second - beat

	serversKey = "asynq:servers"
	workersKey = "asynq:workers"
)

// servers are the keys of servers that live. asynq's own list of them goes by the clocks of those who write and read it,
// so that one whose clock is fast removes the others.
type servers struct {
	mu   sync.Mutex
	keys map[string]bool
}

// Servers implements [gate.Fleet]. It reads what asynq's servers write with each heartbeat. How old that is says the
// clock of Redis alone. A server with several queues counts in full for each.
func (q *Queue) Servers(ctx context.Context) (gate.Servers, error) {
	q.servers.mu.Lock()
	defer q.servers.mu.Unlock()
	pipe := q.redis.Pipeline()
	list := pipe.ZRange(ctx, serversKey, 0, -1)
	active := pipe.LRange(ctx, "asynq:{"+q.name+"}:active", 0, -1)
	if _, err := pipe.Exec(ctx); err != nil {
		return gate.Servers{}, err
	}
	keys := map[string]bool{}
	for _, key := range list.Val() {
		keys[key] = true
	}
	maps.Copy(keys, q.servers.keys)
	all := gate.Servers{Running: active.Val(), Beat: beat}
	if len(keys) == 0 {
		return all, nil
	}
	type answers struct {
		info  *redis.StringCmd
		left  *redis.DurationCmd
		tasks *redis.StringSliceCmd
	}
	pipe = q.redis.Pipeline()
	of := map[string]answers{}
	for key := range keys {
		of[key] = answers{pipe.Get(ctx, key), pipe.PTTL(ctx, key), pipe.HKeys(ctx, workersKey+strings.TrimPrefix(key, serversKey))}
	}
	if _, err := pipe.Exec(ctx); err != nil && err != redis.Nil {
		return gate.Servers{}, err
	}
	q.servers.keys = map[string]bool{}
	for _, key := range slices.Sorted(maps.Keys(of)) {
		a := of[key]
		text, err := a.info.Bytes()
		if err != nil || a.left.Val() >= 0 && a.left.Val() < silent {
			continue
		}
		q.servers.keys[key] = true
		if workers, ours := q.workers(text); ours {
			all.Live = append(all.Live, gate.Server{ID: strings.TrimPrefix(key, serversKey+":"), Workers: workers, Tasks: a.tasks.Val()})
		}
	}
	return all, nil
}

// workers reads how many tasks a server runs at a time from what it wrote, a message ServerInfo of asynq's protocol
// buffers. It reports false if the server does not work on this queue.
func (q *Queue) workers(info []byte) (workers int, ours bool) {
	const concurrency, queues, status = 4, 5, 7
	takes := false
	for len(info) > 0 {
		number, kind, n := protowire.ConsumeTag(info)
		if n < 0 {
			return 0, false
		}
		info = info[n:]
		if n = protowire.ConsumeFieldValue(number, kind, info); n < 0 {
			return 0, false
		}
		value := info[:n]
		info = info[n:]
		switch {
		case number == concurrency && kind == protowire.VarintType:
			v, _ := protowire.ConsumeVarint(value)
			workers = int(int32(v))
		case number == queues && kind == protowire.BytesType:
			entry, _ := protowire.ConsumeBytes(value)
			ours = ours || entryKey(entry) == q.name
		case number == status && kind == protowire.BytesType:
			text, _ := protowire.ConsumeString(value)
			takes = text == "active"
		}
	}
	if !takes {
		workers = 0
	}
	return max(workers, 0), ours
}

// entryKey returns the key of an entry of a map.
func entryKey(entry []byte) string {
	number, kind, n := protowire.ConsumeTag(entry)
	if n < 0 || number != 1 || kind != protowire.BytesType {
		return ""
	}
	key, _ := protowire.ConsumeString(entry[n:])
	return key
}
