/* Streams, events and graphs. Work is put off until it is waited for; graphs run their nodes in any
 * order that their dependencies allow. */
#include "driver.h"
#include "random.h"
#include <chrono>
#include <deque>
#include <set>
#include <vector>

using vv_emulated::operation;

struct vv_emulated_node {
    operation run;
    std::vector<size_t> after;
};
using nodes_list = std::vector<vv_emulated_node>;

struct vv_emulated_graph {
    nodes_list nodes;
};
struct vv_emulated_playable {
    std::shared_ptr<const nodes_list> nodes;
};
struct vv_emulated_stream {
    std::deque<operation> queue;
    uint64_t done, put;
    bool blocks; /* waits for the legacy stream, and that one for it */
    std::shared_ptr<vv_emulated_graph> capture; /* NULL: captures nothing */
    bool origin, invalid;                       /* of the capture */
    std::vector<size_t> last;                   /* nodes that the next one comes after */
};
struct vv_emulated_event {
    std::shared_ptr<vv_emulated_stream> stream; /* NULL: never recorded, or within a capture */
    uint64_t position;                          /* in that stream's work */
    std::shared_ptr<vv_emulated_graph> capture;
    std::vector<size_t> last;
    std::shared_ptr<std::chrono::steady_clock::time_point> when;
    bool timed;
};

namespace vv_emulated {

static std::set<std::shared_ptr<vv_emulated_stream>> streams;

static std::shared_ptr<vv_emulated_stream> stream_of(cudaStream_t handle) {
    static const std::shared_ptr<vv_emulated_stream> legacy = [] {
        auto made = std::make_shared<vv_emulated_stream>();
        streams.insert(made);
        return made;
    }();
    for (const auto &stream : streams) {
        if (stream.get() == handle) {
            return stream;
        }
    }
    return handle ? nullptr : legacy;
}

static void drain(vv_emulated_stream &of, uint64_t until) {
    while (of.done < until) {
        operation next = std::move(of.queue.front());
        of.queue.pop_front();
        next();
        of.done++;
    }
}

void finish_all() {
    auto all = streams;
    for (const auto &stream : all) {
        drain(*stream, stream->put);
    }
}

bool anyone_captures() {
    for (const auto &stream : streams) {
        if (stream->capture) {
            return true;
        }
    }
    return false;
}

/* What the legacy stream waits for, and what waits for it. */
static void keep_legacy_order(const vv_emulated_stream &of, bool is_legacy) {
    for (const auto &other : streams) {
        if (other.get() != &of && (is_legacy ? other->blocks : other == stream_of(nullptr))) {
            drain(*other, other->put);
        }
    }
}

cudaError_t enqueue(cudaStream_t handle, operation what) {
    VV_DRIVER;
    auto stream = stream_of(handle);
    if (!stream) {
        return noted(cudaErrorInvalidResourceHandle);
    }
    if (stream->capture) {
        if (stream->invalid) {
            return noted(cudaErrorStreamCaptureInvalidated);
        }
        stream->capture->nodes.push_back({std::move(what), stream->last});
        stream->last = {stream->capture->nodes.size() - 1};
        return cudaSuccess;
    }
    if (!handle || stream->blocks) {
        keep_legacy_order(*stream, !handle);
    }
    stream->queue.push_back(std::move(what));
    stream->put++;
    if (eager) {
        drain(*stream, stream->put);
    }
    return cudaSuccess;
}

/* Waiting for a stream that captures ruins what is captured. */
static cudaError_t refuse_capturing(vv_emulated_stream &of) {
    if (of.capture) {
        of.invalid = true;
        return noted(cudaErrorStreamCaptureUnsupported);
    }
    return cudaSuccess;
}

static void play(const nodes_list &nodes) {
    std::vector<size_t> waits(nodes.size()), ready;
    std::vector<std::vector<size_t>> before(nodes.size());
    for (size_t i = 0; i < nodes.size(); i++) {
        waits[i] = nodes[i].after.size();
        for (size_t j : nodes[i].after) {
            before[j].push_back(i);
        }
        if (waits[i] == 0) {
            ready.push_back(i);
        }
    }
    while (!ready.empty()) {
        size_t at = draw_below(static_cast<uint32_t>(ready.size())), i = ready[at];
        ready[at] = ready.back();
        ready.pop_back();
        nodes[i].run();
        for (size_t j : before[i]) {
            if (--waits[j] == 0) {
                ready.push_back(j);
            }
        }
    }
}

/* Whether all nodes lie before the ends, so that nothing of a branch is left unjoined. */
static bool all_joined(const nodes_list &nodes, const std::vector<size_t> &ends) {
    std::vector<bool> reached(nodes.size());
    for (size_t i : ends) {
        reached[i] = true;
    }
    for (size_t i = nodes.size(); i-- > 0;) { /* a node's dependencies come before it */
        if (!reached[i]) {
            return false;
        }
        for (size_t j : nodes[i].after) {
            reached[j] = true;
        }
    }
    return true;
}

template <class T> static cudaError_t make(T **made, T with) {
    if (!may_take()) {
        return noted(cudaErrorMemoryAllocation);
    }
    *made = new T(std::move(with));
    return cudaSuccess;
}

} // namespace vv_emulated

using namespace vv_emulated;

cudaError_t cudaStreamCreateWithFlags(cudaStream_t *handle, unsigned flags) {
    VV_DRIVER;
    if (!may_take()) {
        return noted(cudaErrorMemoryAllocation);
    }
    auto made = std::make_shared<vv_emulated_stream>();
    made->blocks = !(flags & cudaStreamNonBlocking);
    streams.insert(made);
    *handle = made.get();
    return cudaSuccess;
}
cudaError_t cudaStreamCreate(cudaStream_t *handle) {
    return cudaStreamCreateWithFlags(handle, cudaStreamDefault);
}
cudaError_t cudaStreamDestroy(cudaStream_t handle) {
    VV_DRIVER;
    auto stream = handle ? stream_of(handle) : nullptr;
    if (!stream) {
        return noted(cudaErrorInvalidResourceHandle);
    }
    drain(*stream, stream->put);
    streams.erase(stream);
    return cudaSuccess;
}
cudaError_t cudaStreamSynchronize(cudaStream_t handle) {
    VV_DRIVER;
    auto stream = stream_of(handle);
    cudaError_t error = stream ? refuse_capturing(*stream) : noted(cudaErrorInvalidResourceHandle);
    if (error == cudaSuccess) {
        drain(*stream, stream->put);
    }
    return error;
}
/* Asking moves the work on by one piece, so that whoever asks again and again gets there. */
static cudaError_t asked(const std::shared_ptr<vv_emulated_stream> &stream, uint64_t position) {
    if (!stream || stream->done >= position) {
        return cudaSuccess;
    }
    drain(*stream, stream->done + 1);
    return cudaErrorNotReady;
}
cudaError_t cudaStreamQuery(cudaStream_t handle) {
    VV_DRIVER;
    auto stream = stream_of(handle);
    cudaError_t error = stream ? refuse_capturing(*stream) : noted(cudaErrorInvalidResourceHandle);
    return error == cudaSuccess ? asked(stream, stream->put) : error;
}
cudaError_t cudaDeviceSynchronize() {
    VV_DRIVER;
    if (anyone_captures()) {
        return noted(cudaErrorStreamCaptureUnsupported);
    }
    finish_all();
    return cudaSuccess;
}

cudaError_t cudaStreamWaitEvent(cudaStream_t handle, cudaEvent_t event, unsigned) {
    VV_DRIVER;
    auto stream = stream_of(handle);
    if (!stream || !event) {
        return noted(cudaErrorInvalidResourceHandle);
    }
    if (event->capture) {
        if (stream->capture && stream->capture != event->capture) {
            return noted(cudaErrorStreamCaptureMerge);
        }
        if (!stream->capture) {
            stream->capture = event->capture;
            stream->origin = stream->invalid = false;
            stream->last.clear();
        }
        std::set<size_t> both(stream->last.begin(), stream->last.end());
        both.insert(event->last.begin(), event->last.end());
        stream->last.assign(both.begin(), both.end());
        return cudaSuccess;
    }
    if (!event->stream) {
        return cudaSuccess;
    }
    if (stream->capture) {
        return noted(cudaErrorStreamCaptureIsolation);
    }
    auto other = event->stream;
    uint64_t position = event->position;
    return enqueue(handle, [other, position] { drain(*other, position); });
}
cudaError_t cudaStreamBeginCapture(cudaStream_t handle, cudaStreamCaptureMode) {
    VV_DRIVER;
    auto stream = handle ? stream_of(handle) : nullptr;
    if (!stream) {
        return noted(cudaErrorInvalidResourceHandle);
    }
    if (stream->capture) {
        return noted(cudaErrorInvalidValue);
    }
    stream->capture = std::make_shared<vv_emulated_graph>();
    stream->origin = true;
    stream->invalid = false;
    stream->last.clear();
    return cudaSuccess;
}
cudaError_t cudaStreamEndCapture(cudaStream_t handle, cudaGraph_t *graph) {
    VV_DRIVER;
    *graph = nullptr;
    auto stream = handle ? stream_of(handle) : nullptr;
    if (!stream || !stream->capture) {
        return noted(cudaErrorInvalidValue);
    }
    auto captured = stream->capture;
    bool joined = all_joined(captured->nodes, stream->last), invalid = false;
    bool origin = stream->origin;
    for (const auto &other : streams) {
        if (other->capture == captured) {
            invalid = invalid || other->invalid;
            other->capture = nullptr;
        }
    }
    cudaError_t error = !origin   ? cudaErrorStreamCaptureUnmatched
                        : invalid ? cudaErrorStreamCaptureInvalidated
                        : !joined ? cudaErrorStreamCaptureUnjoined
                                  : cudaSuccess;
    if (error != cudaSuccess) {
        return noted(error);
    }
    return make(graph, vv_emulated_graph{captured->nodes});
}
cudaError_t cudaStreamIsCapturing(cudaStream_t handle, cudaStreamCaptureStatus *status) {
    VV_DRIVER;
    auto stream = stream_of(handle);
    if (!stream) {
        return noted(cudaErrorInvalidResourceHandle);
    }
    *status = !stream->capture  ? cudaStreamCaptureStatusNone
              : stream->invalid ? cudaStreamCaptureStatusInvalidated
                                : cudaStreamCaptureStatusActive;
    return cudaSuccess;
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t *event, unsigned flags) {
    VV_DRIVER;
    vv_emulated_event made = {};
    made.timed = !(flags & cudaEventDisableTiming);
    return make(event, made);
}
cudaError_t cudaEventCreate(cudaEvent_t *event) {
    return cudaEventCreateWithFlags(event, cudaEventDefault);
}
cudaError_t cudaEventDestroy(cudaEvent_t event) {
    VV_DRIVER;
    delete event;
    return event ? cudaSuccess : noted(cudaErrorInvalidResourceHandle);
}
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t handle) {
    VV_DRIVER;
    auto stream = stream_of(handle);
    if (!stream || !event) {
        return noted(cudaErrorInvalidResourceHandle);
    }
    event->capture = stream->capture;
    event->last = stream->last;
    if (stream->capture) {
        event->stream = nullptr;
        return cudaSuccess;
    }
    auto when = std::make_shared<std::chrono::steady_clock::time_point>();
    cudaError_t error = enqueue(handle, [when] { *when = std::chrono::steady_clock::now(); });
    event->stream = stream;
    event->position = stream->put;
    event->when = when;
    return error;
}
cudaError_t cudaEventSynchronize(cudaEvent_t event) {
    VV_DRIVER;
    if (!event || event->capture) {
        return noted(event ? cudaErrorStreamCaptureUnsupported : cudaErrorInvalidResourceHandle);
    }
    if (event->stream) {
        drain(*event->stream, event->position);
    }
    return cudaSuccess;
}
cudaError_t cudaEventQuery(cudaEvent_t event) {
    VV_DRIVER;
    if (!event || event->capture) {
        return noted(event ? cudaErrorStreamCaptureUnsupported : cudaErrorInvalidResourceHandle);
    }
    return asked(event->stream, event->position);
}
cudaError_t cudaEventElapsedTime(float *milliseconds, cudaEvent_t from, cudaEvent_t to) {
    VV_DRIVER;
    *milliseconds = 0;
    if (!from || !to || !from->stream || !to->stream || !from->timed || !to->timed) {
        return noted(cudaErrorInvalidResourceHandle);
    }
    if (from->stream->done < from->position || to->stream->done < to->position) {
        return cudaErrorNotReady;
    }
    *milliseconds = std::chrono::duration<float, std::milli>(*to->when - *from->when).count();
    return cudaSuccess;
}

cudaError_t cudaGraphInstantiate(cudaGraphExec_t *playable, cudaGraph_t graph, unsigned long long) {
    VV_DRIVER;
    *playable = nullptr;
    if (!graph) {
        return noted(cudaErrorInvalidValue);
    }
    return make(playable, vv_emulated_playable{std::make_shared<const nodes_list>(graph->nodes)});
}
cudaError_t cudaGraphUpload(cudaGraphExec_t playable, cudaStream_t stream) {
    return playable ? enqueue(stream, [] {}) : noted(cudaErrorInvalidValue);
}
cudaError_t cudaGraphLaunch(cudaGraphExec_t playable, cudaStream_t stream) {
    VV_DRIVER;
    if (!playable) {
        return noted(cudaErrorInvalidValue);
    }
    auto nodes = playable->nodes;
    return enqueue(stream, [nodes] { play(*nodes); });
}
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t playable) {
    VV_DRIVER;
    delete playable;
    return playable ? cudaSuccess : noted(cudaErrorInvalidValue);
}
cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
    VV_DRIVER;
    delete graph;
    return graph ? cudaSuccess : noted(cudaErrorInvalidValue);
}
cudaError_t cudaGraphGetNodes(cudaGraph_t graph, void *, size_t *count) {
    VV_DRIVER;
    *count = graph->nodes.size();
    return cudaSuccess;
}
