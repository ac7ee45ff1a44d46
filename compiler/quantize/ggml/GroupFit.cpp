// SPDX-License-Identifier: Apache-2.0
// Groups with a scale and an offset.
#include "compiler/quantize/ggml/GroupFit.h"

namespace ingot::quantize {

float affineError(const Group &group, float high, float scale, float offset) {
  const Lanes factor = splat(scale), added = splat(offset);
  const Lanes inverse = splat(scale == 0 ? 0 : 1 / scale);
  Lanes sum = splat(0);
  for (int i = 0; i < group.lanes; ++i) {
    const Lanes code = rounded(clamped((group.x[i] - added) * inverse, 0, high));
    const Lanes rest = group.x[i] - (factor * code + added);
    sum += group.w[i] * rest * rest;
  }
  return sumOf(sum);
}

namespace {

/// The best scale and offset for the codes that the given ones give.
AffineFit refitAffine(const Group &group, float high, float scale, float offset,
                      bool offsetIsNegative) {
  const Lanes inverse = splat(1 / scale), added = splat(offset);
  Lanes w = splat(0), q = w, qq = w, r = w, rq = w, rr = w;
  for (int i = 0; i < group.lanes; ++i) {
    const Lanes u = (group.x[i] - added) * inverse, code = rounded(clamped(u, 0, high));
    const Lanes rest = u - code, weightedCode = group.w[i] * code;
    const Lanes weightedRest = group.w[i] * rest;
    w += group.w[i];
    q += weightedCode;
    qq += weightedCode * code;
    r += weightedRest;
    rq += weightedRest * code;
    rr += weightedRest * rest;
  }
  const double sw = sumOf(w), sq = sumOf(q), sqq = sumOf(qq), sr = sumOf(r), srq = sumOf(rq),
               srr = sumOf(rr);
  // In units of the scale: rest ≈ stretch * code + shift.
  double stretch = 0, shift = sw > 0 ? sr / sw : 0;
  const double determinant = sw * sqq - sq * sq;
  if (determinant > 1e-6 * sw * sqq) {
    stretch = (sw * srq - sq * sr) / determinant;
    shift = (sqq * sr - sq * srq) / determinant;
  }
  if (offsetIsNegative && offset + scale * shift > 0) {
    shift = -offset / scale;
    stretch = sqq > 0 ? (srq - shift * sq) / sqq : 0;
  }
  const double error = srr - 2 * stretch * srq - 2 * shift * sr + stretch * stretch * sqq +
                       2 * stretch * shift * sq + shift * shift * sw;
  return {static_cast<float>(scale * (1 + stretch)), static_cast<float>(offset + scale * shift),
          static_cast<float>(scale * scale * std::max(0.0, error))};
}

} // namespace

AffineFit fitAffine(const Group &group, float high, const AffineSearch &search) {
  float low = group.at(0), top = group.at(0);
  for (int i = 1; i < group.size(); ++i) {
    low = std::min(low, group.at(i));
    top = std::max(top, group.at(i));
  }
  if (search.offsetIsNegative)
    low = std::min(low, 0.0f);
  if (top <= low)
    return {0, low, 0};
  BestFits<AffineFit> fits;
  const float step = (top - low) / high;
  for (const float cut : {0.0f, 0.5f, -0.4f}) {
    if (cut != 0 && search.offsetIsNegative && low == 0)
      break;
    for (int i = 0; i < search.tries; ++i) {
      const float wider = search.most - (search.most - search.least) * static_cast<float>(i) /
                                            static_cast<float>(search.tries);
      const float scale = (top - low) / (high + wider);
      const float offset = low + cut * step;
      fits.offer(refitAffine(group, high, scale, offset, search.offsetIsNegative));
    }
  }
  AffineFit found;
  for (AffineFit fit : fits.best) {
    for (int round = 0; round < 8 && fit.scale > 0; ++round) {
      const AffineFit next =
          refitAffine(group, high, fit.scale, fit.offset, search.offsetIsNegative);
      if (!(next.error < fit.error))
        break;
      fit = next;
    }
    if (fit.scale > 0 && fit.error < found.error)
      found = fit;
  }
  return found;
}

} // namespace ingot::quantize
