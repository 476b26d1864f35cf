#include "op/hyper_read/cuda_whole.cuh"
VV_C_BEGIN
#include "quant/split.h"
VV_C_END

namespace {

bool is_float(int type) {
    return type == VV_TYPE_F32 || type == VV_TYPE_F16 || type == VV_TYPE_BF16;
}

/* Fine planes and no others. */
bool only_fine(const vv_planes &p) {
    return !p.coarse_q && p.fine_q && !p.float_only;
}

bool fits(const vv_hyper_whole &of, const vv_launch *on) {
    const vv_weight *down = of.down->down, *up = of.up->up, *inject = of.down->inject;
    size_t rank = down->rows, streams = of.up->streams, rows = vv_rows(of.down->rows);
    bool formats = down->type == VV_TYPE_Q8_0 && up->type == VV_TYPE_Q8_0 &&
                   (!inject || is_float(inject->type) || inject->type == VV_TYPE_Q8_0);
    bool planes = only_fine(of.down->h) && only_fine(*of.a) && (!of.u || only_fine(*of.u));
    return formats && planes && of.up->width % VV_SEGMENT == 0 && rank % VV_FINE_UNIT == 0 &&
           COPIES * rank * rows <= WORDS_MOST && streams <= on->processors;
}

matrix matrix_of(const vv_weight *w) {
    size_t groups = w->width / 32;
    return {w->data,
            w->scale,
            (unsigned)vv_split_row_bytes(w->row_bytes),
            (unsigned)groups * 32,
            (unsigned)groups,
            divisor_of((unsigned)(groups + 3) / 4)};
}

/* The next `bytes` of shared memory. */
unsigned take(places &at, size_t bytes) {
    unsigned begin = at.end;
    at.end += (unsigned)(bytes + 15) / 16 * 16;
    return begin;
}

/* Where things lie, behind the weights of whichever block has most. */
places places_of(const whole_job &job, unsigned blocks) {
    places at = {};
    unsigned rows_down = 0, rows_up = 0; /* of any block */
    for (unsigned b = 0; b < blocks; b++) {
        share s = share_of(job, b, blocks);
        unsigned end = s.up_at + s.u_count * job.streams * job.up.row_bytes;
        unsigned down = s.down_count + s.inject_count;
        at.end = end > at.end ? end : at.end;
        rows_down = down > rows_down ? down : rows_down;
        rows_up = s.u_count * job.streams > rows_up ? s.u_count * job.streams : rows_up;
    }
    size_t values = (size_t)job.streams * job.width, longest = values;
    size_t down_sums = (size_t)rows_down * sums_stride(job.down.segments.by);
    size_t up_sums = (size_t)rows_up * sums_stride(job.up.segments.by);
    longest = longest > job.rank ? longest : job.rank;
    longest = (longest + VV_SEGMENT - 1) / VV_SEGMENT * VV_SEGMENT; /* for copies of 16 bytes */
    at.values = (unsigned)longest;
    at.row_sums = (unsigned)(down_sums > up_sums ? down_sums : up_sums);
    at.q = take(at, job.rows * longest);
    at.scale = take(at, job.rows * longest / VV_FINE_UNIT * sizeof(float));
    at.sums = take(at, (size_t)job.rows * at.row_sums * sizeof(float));
    at.own = take(at, (size_t)job.rows * job.streams * job.outputs * sizeof(float));
    at.arrival = take(at, 2 * sizeof(unsigned long long));
    return at;
}

} // namespace

int vv_cuda_hyper_whole(const struct vv_hyper_whole *of, const struct vv_launch *on) {
    if (!fits(*of, on)) {
        return VV_ERROR_UNSUPPORTED;
    }
    unsigned blocks = on->processors;
    const vv_weight *inject = of->down->inject;
    whole_job job = {};
    job.h = of->down->h;
    job.h_values = of->up->h;
    job.rows = (unsigned)vv_rows(of->down->rows);
    job.width = (unsigned)of->up->width;
    job.streams = (unsigned)of->up->streams;
    job.rank = (unsigned)of->down->down->rows;
    job.down = matrix_of(of->down->down);
    job.up = matrix_of(of->up->up);
    if (inject) {
        job.inject = matrix_of(inject);
        job.inject_type = inject->type;
        job.inject_float = is_float(inject->type);
    }
    job.gamma = of->down->gamma;
    job.a = of->down->a;
    job.u = of->up->u;
    job.a_planes = *of->a;
    job.u_wanted = of->u != nullptr;
    if (of->u) {
        job.u_planes = *of->u;
    }
    unsigned each = job.u_wanted ? VV_FINE_UNIT : 1; /* values of u, at least */
    job.outputs = (job.width / each + blocks - 1) / blocks * each;
    job.at = places_of(job, blocks);
    job.meeting = on->meeting;
    job.status = on->status;
    memcpy(job.step, of->step, sizeof job.step);
    return vv_start_grid(on, whole, THREADS, job.at.end, job);
}
